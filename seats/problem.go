package seats

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Problem is one thing wrong with a plan document.
type Problem struct {
	Where string `json:"where"` // "zones[0].rows[2].seats[5].id", "line 17" (physical, from 1), or "plan"
	What  string `json:"what"`  // a phrase for the person who made the document
}

// BadPlan is the error of Parse: everything wrong with a document, at most 100 problems. When there are
// more, the last of the 100 says how many are not listed.
type BadPlan struct {
	Problems []Problem
}

// Error gives the number of problems and the first one.
func (b *BadPlan) Error() string {
	if len(b.Problems) == 0 {
		return "seats: bad plan"
	}
	first := b.Problems[0].Where + ": " + b.Problems[0].What
	if len(b.Problems) == 1 {
		return "seats: bad plan: " + first
	}
	return fmt.Sprintf("seats: bad plan, %d problems, the first: %s", len(b.Problems), first)
}

const maxProblems = 100

// report gathers problems. It counts those past maxProblems and does not spell them out.
type report struct {
	problems []Problem
	total    int
}

// add notes a problem. where is asked for its text only if there is room.
func (r *report) add(where fmt.Stringer, format string, args ...any) {
	if r.total++; r.total <= maxProblems {
		r.problems = append(r.problems, Problem{where.String(), fmt.Sprintf(format, args...)})
	}
}

// err returns a *BadPlan, or nil when nothing was added.
func (r *report) err() error {
	if r.total == 0 {
		return nil
	}
	if r.total > maxProblems {
		last := &r.problems[maxProblems-1]
		*last = Problem{"plan", fmt.Sprintf("%d more problems are not listed", r.total-maxProblems+1)}
	}
	return &BadPlan{r.problems}
}

// place is a where that is known as text; line is one that is a line number, from 1.
type (
	place string
	line  int
)

func (p place) String() string { return string(p) }
func (l line) String() string  { return "line " + strconv.Itoa(int(l)) }

// quote shows a piece of the document inside a problem: escaped and not too long.
func quote(s string) string {
	const most = 40 // characters
	n := 0
	for i := range s {
		if n++; n > most {
			return strconv.Quote(s[:i]) + "..."
		}
	}
	return strconv.Quote(s)
}

// textFault says why s may not be a name, a number or an id of at most most characters, or "" if it may.
func textFault(s string, most int) string {
	if n := utf8.RuneCountInString(s); n > most {
		return fmt.Sprintf("is %d characters long, at most %d are allowed", n, most)
	}
	for _, c := range s {
		switch {
		case c == utf8.RuneError:
			return "contains U+FFFD, the trace of a broken encoding"
		case c < 0x20, c >= 0x7f && c <= 0x9f, c >= 0x2028 && c <= 0x202e, c >= 0x2066 && c <= 0x2069:
			return fmt.Sprintf("contains the control character U+%04X", c)
		}
	}
	return ""
}
