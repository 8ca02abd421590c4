package sale

import (
	"errors"
	"regexp"
	"time"
)

// ErrBadSpan is the error of [ParseSpan], the rest of a sentence about what was given.
var ErrBadSpan = errors.New(`must be a duration of whole milliseconds from "0s" to "720h", such as "250ms", "1m" or "1h30m"`)

var spanForm = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`)

// ParseSpan reads a duration in the rule of a lane as people write it and as time.Duration prints it: each number with its
// unit, no sign.
func ParseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || !spanForm.MatchString(text) || d%time.Millisecond != 0 || d > maxInterval {
		return 0, ErrBadSpan
	}
	return d, nil
}
