package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"foyer/challenge"
	"foyer/outbox/webhook"
)

// settings are everything an operator may set, each with its one name, default
// and sentence in bind. Flags have an environment twin: --base-url is
// FOYER_BASE_URL; the flag wins. Secrets come from the environment only, so
// that they are not seen in the list of processes.
type settings struct {
	Addr         string
	Data         string
	BaseURL      string
	Proxies      prefixes
	Metrics      string
	Sinks        sinks
	AllowTargets prefixes
	DemoProvider bool
	RateLimit    int
	Tick         time.Duration
	LogRequests  bool
	HTTP2        bool
	Protect      *protection // of the command protect alone

	AdminKey       string
	WebhookSecrets []webhook.Secret
	DemoSecret     webhook.Secret
	StripeKey      string
	StripeSecrets  []string
	StripeURL      string // empty: Stripe's own
	Widgets        map[string]*challenge.Widget
}

func (s *settings) bind(f *flag.FlagSet) {
	f.StringVar(&s.Addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen on; port 0 takes a free one")
	f.StringVar(&s.Data, "data", "foyer-data", "`FOLDER` that keeps the one file, foyer.db; made when missing")
	f.StringVar(&s.BaseURL, "base-url", "", "`URL` by which the public reaches Foyer, such as https://tickets.example.org; taken from each request when empty")
	f.Var(&s.Proxies, "trusted-proxies", "`CIDR,...` of proxies that may tell a client's address and scheme (X-Forwarded-For, X-Forwarded-Proto)")
	f.StringVar(&s.Metrics, "metrics", "", "`HOST:PORT` for /metrics alone, open to all who reach it; when empty it is on the main address, for clients on this machine and admin keys")
	f.Var(&s.Sinks, "sink", "`TOPIC=URL` where messages of a topic go, * for all; repeatable; see Sinks below (default *=log:)")
	f.Var(&s.AllowTargets, "allow-targets", "`CIDR,...` of private networks that tasks may reach, and webhooks by name")
	f.BoolVar(&s.DemoProvider, "demo-provider", false, "offer the demo payment provider, which takes no money; needs FOYER_DEMO_SECRET, except in a demo")
	f.IntVar(&s.RateLimit, "rate-limit", 2500, "`NUMBER` of new visitors and joins that one address (IPv6: /64) may make per second, with bursts of four times that; a network (/24, /48) may make four times as many, one visitor a tenth; 0 is no limit")
	f.DurationVar(&s.Tick, "tick", time.Second, "`DURATION` between two looks at who may come in")
	f.BoolVar(&s.LogRequests, "log-requests", true, "write one JSON line per request to the log (standard error)")
	f.BoolVar(&s.HTTP2, "http2", false, "offer HTTP/2 without TLS (h2c) to proxies beside HTTP/1.1")
	if s.Protect != nil {
		s.Protect.bind(f)
	}
}

// sinkHelp is the part of the manual about where messages can go.
const sinkHelp = `
Sinks, the URL in --sink TOPIC=URL:
  https://HOST/PATH                  a webhook, signed with FOYER_WEBHOOK_SECRET; http:// too
  smtp://USER:PASSWORD@HOST/?from=tickets@example.org
                                     mails to buyers for order.paid and ticket.issued, encrypted by STARTTLS on port 587; smtps:// is
                                     TLS on port 465; &to=ADDRESS is for orders without an address, &tls=none for a server without TLS
  nats://USER:PASSWORD@HOST/SUBJECT  NATS JetStream, subject SUBJECT.TOPIC, which a stream must take; nats://TOKEN@...; tls:// is TLS
  kafka://HOST:9092,HOST:9092/TOPIC  Kafka, record key = lane key; ?tls=1 is TLS; USER:PASSWORD@ signs on by SASL PLAIN
  file:/PATH/messages.ndjson         one JSON line a message; may be moved away at any time
  log:                               a line in the log, without personal data
  NATS and Kafka get CloudEvents 1.0. Sinks with passwords belong into FOYER_SINK, separated by blanks: flags are seen by all
  users of a machine. A message waits for the sink it was written for; another user or password keeps the sink the same.
`

// secretHelp is the part of the manual about what has no flag.
const secretHelp = `
Secrets, from the environment only:
  FOYER_ADMIN_KEY       admin key and staff password, at least 8 characters; else the first start makes one and prints it once;
                        it stays valid until another one is set or it is removed
  FOYER_WEBHOOK_SECRET  whsec_..., signs outgoing webhooks; several separated by blanks while rotating
  FOYER_DEMO_SECRET     whsec_..., checks what the demo provider sends in
  FOYER_STRIPE_KEY      sk_... or rk_..., takes money on Stripe Checkout; needs FOYER_STRIPE_WEBHOOK_SECRET
  FOYER_STRIPE_WEBHOOK_SECRET
                        whsec_... of the endpoint at Stripe that posts to /api/v1/payments/stripe/webhook; several separated by
                        blanks while one is rolled
  FOYER_STRIPE_URL      for tests: another address for Stripe's API
  FOYER_TURNSTILE_SITE_KEY, FOYER_TURNSTILE_SECRET
                        of Cloudflare Turnstile, for events with "challenge": "turnstile"; FOYER_TURNSTILE_URL is for tests:
                        another address for siteverify
  FOYER_HCAPTCHA_SITE_KEY, FOYER_HCAPTCHA_SECRET
                        of hCaptcha, for "hcaptcha"; FOYER_HCAPTCHA_URL is for tests
`

// envName is the environment twin of a flag.
func envName(flag string) string {
	return "FOYER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// parseSettings reads flags and environment for a command, with help as manual.
func parseSettings(p program, name, about string, args []string, change func(*settings)) (*settings, error) {
	s := &settings{}
	if err := s.parse(p, name, about, args, change); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *settings) parse(p program, name, about string, args []string, change func(*settings)) error {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(p.out)
	s.bind(f)
	if change != nil {
		change(s)
		f.VisitAll(func(fl *flag.Flag) { fl.DefValue = fl.Value.String() })
	}
	f.Usage = func() {
		fmt.Fprintf(p.out, "%s\n\nUsage: foyer %s [flags]\n\nEvery flag has an environment twin: --base-url is FOYER_BASE_URL. The flag wins.\n\n", about, name)
		printFlags(f)
		fmt.Fprint(p.out, sinkHelp, secretHelp)
	}
	if err := fromEnvironment(f, p.env); err != nil {
		return err
	}
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usageError("%s takes no argument %s; see foyer %s --help", name, shown(f.Arg(0)), name)
	}
	if err := s.secrets(p.env); err != nil {
		return err
	}
	return s.check()
}

// parseFlags parses without the flag package's own chatter: one sentence will
// do, and it must not tell the value, which may hold a password.
func parseFlags(f *flag.FlagSet, args []string) error {
	usage := f.Usage
	f.Usage = func() {}
	out := f.Output()
	f.SetOutput(discard{})
	var wrong error // what a flag had against its value
	f.VisitAll(func(fl *flag.Flag) { fl.Value = watched{fl.Value, fl.Name, fl.DefValue, &wrong} })
	err := f.Parse(args)
	f.VisitAll(func(fl *flag.Flag) { fl.Value = fl.Value.(watched).Value })
	f.SetOutput(out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage()
		return err
	case wrong != nil:
		return usageError("%v; see foyer %s --help", wrong, f.Name())
	case err != nil:
		return usageError("%v; see foyer %s --help", err, f.Name())
	}
	return nil
}

// watched is a flag's value that keeps in wrong what is wrong with a new one.
type watched struct {
	flag.Value
	name, usual string
	wrong       *error
}

// Set sets the value, or tells what is wrong with it without repeating it.
func (w watched) Set(v string) error {
	err := w.Value.Set(v)
	if err != nil {
		*w.wrong = fmt.Errorf("invalid value for --%s: %w", w.name, wanted(w.Value, w.usual, err))
	}
	return err
}

// wanted is an error that tells the form of a flag whose value was refused. The
// flag package's own kinds tell none; usual is an example, the flag's default.
func wanted(v flag.Value, usual string, refused error) error {
	g, ok := v.(flag.Getter)
	if !ok {
		return refused
	}
	switch g.Get().(type) {
	case bool:
		return errors.New("must be true or false")
	case int:
		return fmt.Errorf("must be a whole number of at most 18 digits such as %s", usual)
	case time.Duration:
		return fmt.Errorf("must be a duration such as %s or 250ms", usual)
	}
	return refused
}

// IsBoolFlag lets the flag package know flags that need no value.
func (w watched) IsBoolFlag() bool {
	b, ok := w.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// shown is an argument in quotes, or no more than that there is one when it may
// hold a password, as addresses do.
func shown(arg string) string {
	if strings.ContainsAny(arg, ":@=") {
		return "like the one given"
	}
	return fmt.Sprintf("%q", arg)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func fromEnvironment(f *flag.FlagSet, env func(string) (string, bool)) (err error) {
	f.VisitAll(func(fl *flag.Flag) {
		v, ok := env(envName(fl.Name))
		if !ok || err != nil {
			return
		}
		if e := fl.Value.Set(v); e != nil {
			err = usageError("invalid value for %s: %v", envName(fl.Name), wanted(fl.Value, fl.DefValue, e)) // the value may hold a password
		}
	})
	return err
}

func (s *settings) secrets(env func(string) (string, bool)) (err error) {
	s.AdminKey, _ = env("FOYER_ADMIN_KEY")
	if s.AdminKey != "" && len(s.AdminKey) < 8 {
		return usageError("FOYER_ADMIN_KEY must have at least 8 characters")
	}
	v, _ := env("FOYER_WEBHOOK_SECRET")
	for _, one := range strings.Fields(v) {
		secret, err := webhook.ParseSecret(one)
		if err != nil {
			return usageError("FOYER_WEBHOOK_SECRET: %v", err)
		}
		s.WebhookSecrets = append(s.WebhookSecrets, secret)
	}
	if v, _ := env("FOYER_DEMO_SECRET"); v != "" {
		if s.DemoSecret, err = webhook.ParseSecret(v); err != nil {
			return usageError("FOYER_DEMO_SECRET: %v", err)
		}
	}
	if err := s.widgets(env); err != nil {
		return err
	}
	return s.stripe(env)
}

// widgets reads the keys of what can check visitors. One without the other would
// let nobody in.
func (s *settings) widgets(env func(string) (string, bool)) error {
	s.Widgets = map[string]*challenge.Widget{}
	for name, widget := range map[string]func(siteKey, secret, verify string) *challenge.Widget{"turnstile": challenge.Turnstile, "hcaptcha": challenge.HCaptcha} {
		prefix := "FOYER_" + strings.ToUpper(name)
		get := func(what string) string { v, _ := env(prefix + what); return strings.TrimSpace(v) }
		siteKey, secret, verify := get("_SITE_KEY"), get("_SECRET"), get("_URL")
		if (siteKey == "") != (secret == "") {
			return usageError("%s_SITE_KEY and %s_SECRET belong together: set both", prefix, prefix)
		}
		if u, err := url.Parse(verify); verify != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return usageError("%s_URL must be an address such as http://127.0.0.1:9000/siteverify", prefix)
		}
		if siteKey != "" {
			s.Widgets[name] = widget(siteKey, secret, verify)
		}
	}
	return nil
}

// stripe reads what is needed to take money on Stripe. A key alone would sell
// tickets whose money nobody hears of.
func (s *settings) stripe(env func(string) (string, bool)) error {
	key, _ := env("FOYER_STRIPE_KEY")
	s.StripeKey = strings.TrimSpace(key)
	secrets, _ := env("FOYER_STRIPE_WEBHOOK_SECRET")
	s.StripeSecrets = strings.Fields(secrets)
	s.StripeURL, _ = env("FOYER_STRIPE_URL")
	switch {
	case s.StripeKey != "" && len(s.StripeSecrets) == 0:
		return usageError("FOYER_STRIPE_KEY needs FOYER_STRIPE_WEBHOOK_SECRET: make an endpoint at Stripe for /api/v1/payments/stripe/webhook and set the whsec_... that it shows")
	case s.StripeKey == "" && len(s.StripeSecrets) > 0:
		return usageError("FOYER_STRIPE_WEBHOOK_SECRET needs FOYER_STRIPE_KEY: set the secret key of the account, sk_..., or a restricted one, rk_...")
	case s.StripeKey != "" && !stripeKey.MatchString(s.StripeKey):
		return usageError("FOYER_STRIPE_KEY must be a secret key, sk_..., or a restricted one, rk_...; pk_... is for browsers")
	}
	for i, one := range s.StripeSecrets {
		if !strings.HasPrefix(one, "whsec_") || len(one) < len("whsec_")+16 {
			return usageError("FOYER_STRIPE_WEBHOOK_SECRET: secret %d must be whsec_... as Stripe shows it", i+1)
		}
	}
	if s.StripeURL != "" {
		u, err := url.Parse(s.StripeURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usageError("FOYER_STRIPE_URL must be an address such as http://127.0.0.1:12111")
		}
	}
	return nil
}

var stripeKey = regexp.MustCompile(`^(sk|rk)_[0-9A-Za-z_]+$`)

func (s *settings) check() error {
	if !isHostPort(s.Addr) {
		return usageError("--addr %q must be HOST:PORT such as 127.0.0.1:8080", s.Addr)
	}
	if s.Metrics != "" && !isHostPort(s.Metrics) {
		return usageError("--metrics %q must be HOST:PORT such as 127.0.0.1:9090", s.Metrics)
	}
	if s.BaseURL != "" {
		u, err := url.Parse(s.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.TrimSuffix(u.Path, "/") != "" {
			return usageError("--base-url must be an address without a path such as https://tickets.example.org")
		}
		s.BaseURL = u.Scheme + "://" + u.Host
	}
	if s.DemoProvider && s.DemoSecret == nil {
		return usageError("--demo-provider needs FOYER_DEMO_SECRET (whsec_ and 24 to 64 bytes in base64), so that nobody else can say that money came")
	}
	if s.RateLimit < 0 {
		return usageError("--rate-limit must be 0 or more")
	}
	if s.Tick < 10*time.Millisecond || s.Tick > time.Minute {
		return usageError("--tick must be between 10ms and 1m")
	}
	if s.Data == "" {
		return usageError("--data must name a folder")
	}
	if s.Protect != nil {
		return s.Protect.check()
	}
	return nil
}

// isHostPort tells whether an address has a port that there can be, by number or
// by a name that the machine knows.
func isHostPort(v string) bool {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// prefixes are networks separated by commas.
type prefixes []netip.Prefix

func (p *prefixes) String() string {
	var s []string
	for _, x := range *p {
		s = append(s, x.String())
	}
	return strings.Join(s, ",")
}

// Set reads "10.0.0.0/8,192.0.2.7"; a bare address is a network of one. Its
// errors do not repeat what they are about.
func (p *prefixes) Set(v string) error {
	*p = nil
	for i, one := range strings.Split(v, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		x, err := netip.ParsePrefix(one)
		if err != nil {
			a, err := netip.ParseAddr(one)
			if err != nil {
				return fmt.Errorf("entry %d is no network such as 10.0.0.0/8", i+1)
			}
			x = netip.PrefixFrom(a, a.BitLen())
		}
		*p = append(*p, x.Masked())
	}
	return nil
}

// printFlags writes the manual of the flags, a line or two each.
func printFlags(f *flag.FlagSet) {
	f.VisitAll(func(fl *flag.Flag) {
		name, usage := flag.UnquoteUsage(fl)
		fmt.Fprintf(f.Output(), "  --%s %s\n        %s", fl.Name, name, usage)
		if fl.DefValue != "" && fl.DefValue != "0" {
			fmt.Fprintf(f.Output(), " (default %s)", fl.DefValue)
		}
		fmt.Fprintln(f.Output())
	})
}
