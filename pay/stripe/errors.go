package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/stripe/stripe-go/v85"
)

// paramEmail is the parameter with the buyer's address.
const paramEmail = "customer_email"

// failed makes one sentence of what the library returns, which can be a whole
// JSON document with secrets of a payment in it. What Stripe says of an address
// of a buyer is left out.
func (p *Provider) failed(doing string, err error) error {
	var answer *sdk.Error
	var call *url.Error
	switch {
	case errors.As(err, &answer):
		s := fmt.Sprintf("stripe: %s: Stripe answered %d", doing, answer.HTTPStatusCode)
		for _, word := range []string{string(answer.Code), answer.Param, answer.RequestID} {
			if word != "" {
				s += " " + clip(word, 100)
			}
		}
		if answer.Msg != "" && answer.Param != paramEmail {
			s += ": " + clip(answer.Msg, 200)
		}
		return errors.New(p.hide(s))
	case errors.As(err, &call):
		return fmt.Errorf("stripe: %s: %w", doing, call.Err) // without the address, which may hold a password
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("stripe: %s: %w", doing, err)
	case errors.Is(err, errTooMany), errors.Is(err, errNoTime):
		return err
	}
	return fmt.Errorf("stripe: %s: the answer cannot be read", doing)
}

// hide takes our secrets out of a text.
func (p *Provider) hide(s string) string {
	for _, secret := range append([]string{p.cfg.Key}, p.cfg.Secrets...) {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "...")
		}
	}
	return s
}

// final tells whether repeating a call cannot help: Stripe understood it and
// will not do it. A wrong key, a lock, too many calls and an empty balance can
// be mended from outside.
func final(err error) bool {
	var answer *sdk.Error
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.HTTPStatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	switch answer.Code {
	case sdk.ErrorCodeIdempotencyKeyInUse, sdk.ErrorCodeLockTimeout, sdk.ErrorCodeRateLimit, sdk.ErrorCodeBalanceInsufficient:
		return false
	}
	return answer.HTTPStatusCode/100 == 4 && answer.Type != sdk.ErrorTypeIdempotency
}

// replayed tells whether an answer is that of an earlier call, which Stripe
// keeps under the idempotency key: failures too, once it has begun with a call.
func replayed(err error) bool {
	var answer *sdk.Error
	return errors.As(err, &answer) && answer.LastResponse != nil && answer.LastResponse.Header.Get("Idempotent-Replayed") == "true"
}

// otherRequest tells whether the idempotency key was used for another request.
func otherRequest(err error) bool {
	var answer *sdk.Error
	return errors.As(err, &answer) && answer.Type == sdk.ErrorTypeIdempotency && answer.HTTPStatusCode == http.StatusBadRequest
}

func refusedEmail(err error) bool {
	var answer *sdk.Error
	return errors.As(err, &answer) && answer.HTTPStatusCode == http.StatusBadRequest && answer.Param == paramEmail
}

// refusedState tells whether a call may have failed for the state of what it is
// about.
func refusedState(err error) bool {
	var answer *sdk.Error
	return errors.As(err, &answer) && (answer.HTTPStatusCode == http.StatusBadRequest || answer.HTTPStatusCode == http.StatusConflict)
}
