package queue

import "time"

// PollInterval is how long a visitor with rank people ahead (zero-based) waits before asking again.
func PollInterval(rank int) time.Duration {
	switch {
	case rank < 100:
		return time.Second
	case rank < 1000:
		return 3 * time.Second
	case rank < 10000:
		return 5 * time.Second
	default:
		return 15 * time.Second
	}
}

// PollWithin is PollInterval for a visitor who must ask within a time once he is called: a quarter of it
// at most, so that a lost or slow question does not cost him his turn.
func PollWithin(rank int, pickup time.Duration) time.Duration {
	return min(PollInterval(rank), pickup/4)
}

// Jitter spreads d by up to a fifth either way, so that those who came together do not ask together.
// r is the caller's random number in [0, 1): 0 gives 0.8 d, 0.5 gives d.
func Jitter(d time.Duration, r float64) time.Duration {
	return d + time.Duration(float64(d)*(0.4*r-0.2))
}
