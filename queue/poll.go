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

// Jitter spreads d by up to a fifth either way, so that those who came together do not ask together.
// r is the caller's random number in [0, 1): 0 gives 0.8 d, 0.5 gives d.
func Jitter(d time.Duration, r float64) time.Duration {
	return d + time.Duration(float64(d)*(0.4*r-0.2))
}
