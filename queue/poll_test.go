package queue

import (
	"testing"
	"time"
)

func TestThoseFarBehindAskLessOften(t *testing.T) {
	for _, c := range []struct {
		rank int
		want time.Duration
	}{
		{-1, time.Second}, {0, time.Second}, {99, time.Second},
		{100, 3 * time.Second}, {999, 3 * time.Second},
		{1000, 5 * time.Second}, {9999, 5 * time.Second},
		{10000, 15 * time.Second}, {2_000_000, 15 * time.Second},
	} {
		if got := PollInterval(c.rank); got != c.want {
			t.Errorf("rank %d: got %v, want %v", c.rank, got, c.want)
		}
	}
}

func TestWhoMustComeSoonAsksOften(t *testing.T) {
	for _, c := range []struct {
		rank         int
		pickup, want time.Duration
	}{
		{0, 60 * time.Second, time.Second}, {20_000, 60 * time.Second, 15 * time.Second}, {20_000, 20 * time.Second, 5 * time.Second},
		{500, 4 * time.Second, time.Second}, {0, 4 * time.Second, time.Second}, {0, 2 * time.Second, 500 * time.Millisecond},
	} {
		if got := PollWithin(c.rank, c.pickup); got != c.want {
			t.Errorf("rank %d, %v to come: got %v, want %v", c.rank, c.pickup, got, c.want)
		}
	}
}

func TestJitterIsAFifthEitherWay(t *testing.T) {
	for _, c := range []struct {
		r    float64
		want time.Duration
	}{{0, 8 * time.Second}, {0.25, 9 * time.Second}, {0.5, 10 * time.Second}, {0.75, 11 * time.Second}} {
		if got := Jitter(10*time.Second, c.r); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("r %v: got %v, want %v", c.r, got, c.want)
		}
	}
	if got := Jitter(10*time.Second, 0.999999); got >= 12*time.Second || got < 11*time.Second {
		t.Errorf("r nearly 1: got %v, want just under 12s", got)
	}
}
