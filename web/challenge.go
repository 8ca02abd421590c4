package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/challenge"
	"foyer/sale"
)

// unproved is the refusal of a join, with the challenge that opens it.
type unproved struct {
	refusal   *sale.Refusal
	challenge any
}

func (u *unproved) Error() string { return u.refusal.Error() }

// Unwrap gives the refusal.
func (u *unproved) Unwrap() error { return u.refusal }

const (
	unasked   = "This event asks for a proof before it gives a number. Answer the challenge and send the answer as proof."
	unproven  = "The proof is not right, too old or used. Answer this new challenge and send the answer as proof."
	noScripts = "This event asks every browser for a proof, which takes a script. Allow scripts for this site and open the waiting room again."
)

// challenge makes what the visitor is asked before he may join; nil is nothing.
func (s *Server) challenge(event string, visitor uuid.UUID) (any, error) {
	ask, err := s.office.Ask(event, visitor)
	if err != nil {
		return nil, err
	}
	return s.asked(event, visitor, ask)
}

func (s *Server) asked(event string, visitor uuid.UUID, ask sale.Ask) (any, error) {
	switch ask.Challenge {
	case "":
		return nil, nil
	case sale.ChallengeWork:
		return s.work.Make(challenge.Subject{Event: event, Visitor: visitor, After: ask.After}, ask.Cost)
	}
	w := s.conf.Widgets[ask.Challenge]
	if w == nil {
		return nil, errNoWidget
	}
	return struct {
		Provider string `json:"provider"`
		SiteKey  string `json:"siteKey"`
		Script   string `json:"script"`
	}{ask.Challenge, w.SiteKey, w.Script}, nil
}

// errNoWidget meets those who join an event whose widget was set up when the
// event was made and is not any more: nobody gets in unproved.
var errNoWidget = &sale.Refusal{Code: "challenge_unavailable", Detail: "The check that this event asks for is not set up at present. Try again in a while.", RetryAfter: 30 * time.Second}

var errWidgetDown = &sale.Refusal{Code: "challenge_unavailable", Detail: "Who you are cannot be checked at present, because the service that does it does not answer. Try again in a moment.", RetryAfter: 5 * time.Second}

// proofPatience is how long a provider may take to say what it thinks.
const proofPatience = 5 * time.Second

// prove lets a visitor on to join: nothing is asked of him, or he has proved it.
func (s *Server) prove(c echo.Context, visitor uuid.UUID, proof string) error {
	event := param(c, "event")
	ask, err := s.office.Ask(event, visitor)
	if err != nil || ask.Challenge == "" {
		return err
	}
	detail := unasked
	switch {
	case proof != "":
		detail = unproven
		err = s.checkProof(c.Request(), challenge.Subject{Event: event, Visitor: visitor, After: ask.After}, ask, proof)
		if !errors.Is(err, challenge.ErrProof) {
			return err
		}
	case !isAPI(c.Request().URL.Path):
		detail = noScripts
	}
	next, err := s.asked(event, visitor, ask)
	if err != nil {
		return err
	}
	return &unproved{&sale.Refusal{Code: "challenge_required", Detail: detail}, next}
}

// checkProof tells with [challenge.ErrProof] that the proof is not right. What
// cannot be checked lets nobody in.
func (s *Server) checkProof(r *http.Request, subject challenge.Subject, ask sale.Ask, proof string) error {
	if ask.Challenge == sale.ChallengeWork {
		return s.work.Check(proof, subject)
	}
	w := s.conf.Widgets[ask.Challenge]
	if w == nil {
		return errNoWidget
	}
	ctx, cancel := context.WithTimeout(r.Context(), proofPatience)
	defer cancel()
	err := w.Check(ctx, proof)
	if err != nil && !errors.Is(err, challenge.ErrProof) {
		return errWidgetDown.Because(err)
	}
	return err
}

// challengeWord is a challenge as staff choose it.
type challengeWord struct{ Name, Word string }

// challengeWords are the challenges that are set up, and the one that is used.
func (s *Server) challengeWords(used string) []challengeWord {
	all := []challengeWord{{sale.ChallengeWork, "work for the visitor’s machine (ALTCHA)"}}
	for _, w := range []challengeWord{{"turnstile", "Cloudflare Turnstile"}, {"hcaptcha", "hCaptcha"}} {
		switch {
		case s.conf.Widgets[w.Name] != nil:
			all = append(all, w)
		case used == w.Name:
			all = append(all, challengeWord{w.Name, w.Word + " (not set up: nobody can join)"})
		}
	}
	return all
}

func (s *Server) challengeForm(c echo.Context, by *sale.Key) error {
	cost, err := strconv.Atoi(c.FormValue("cost"))
	if err != nil {
		return s.after(c, sayBad("The size of the task must be a whole number."), "challenge")
	}
	_, err = s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		v.Challenge, v.ChallengeCost = c.FormValue("challenge"), cost
		return nil
	})
	return s.after(c, err, "challenge")
}
