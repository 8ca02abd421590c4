package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// outcome is what became of a request for the protected shop.
type outcome string

const (
	outPassed    outcome = "passed"    // in by a turn, and the shop answered
	outExcluded  outcome = "excluded"  // in by --exclude, and the shop answered
	outFailOpen  outcome = "fail_open" // in because nobody could tell, and the shop answered
	outWaiting   outcome = "waiting"   // a person was sent to the waiting page
	outRefused   outcome = "refused"   // a program or a form was told that it is not its turn
	outUndecided outcome = "undecided" // kept out because nobody could tell
	outFailed    outcome = "failed"    // the shop did not answer
	outBroken    outcome = "broken"    // the client went away or sent a bad body before the shop answered
)

// newOutcomes returns the counters of a protected shop, all at 0. Of two shops of
// one registry they are the same.
func newOutcomes(r *prometheus.Registry) map[outcome]prometheus.Counter {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "foyer_protect_requests_total", Help: "Requests for the protected shop, by what became of them; those of the waiting room are not among them.",
	}, []string{"outcome"})
	var there prometheus.AlreadyRegisteredError
	if err := r.Register(v); errors.As(err, &there) {
		v = there.ExistingCollector.(*prometheus.CounterVec)
	}
	all := map[outcome]prometheus.Counter{}
	for _, o := range []outcome{outPassed, outExcluded, outFailOpen, outWaiting, outRefused, outUndecided, outFailed, outBroken} {
		all[o] = v.WithLabelValues(string(o))
	}
	return all
}

// answered counts a request that the shop answers, once its answer begins: what
// streams need not end to be counted.
func (p *protector) answered(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols && !strings.EqualFold(res.Header.Get("Upgrade"), res.Request.Header.Get("Upgrade")) {
		return nil // no protocol that was asked for: the proxy takes it for no answer, and unreached counts it
	}
	if a, ok := res.Request.Context().Value(admissionKey{}).(admission); ok {
		p.counts[a.by].Inc()
	}
	return nil
}
