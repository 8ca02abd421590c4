package outbox

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestPausesFollowTheScheduleWithJitter(t *testing.T) {
	for i, s := range steps {
		mid := pause(i+1, 0, defaultMaxAge, 0.5)
		if mid != s.pause {
			t.Errorf("attempt %d: middle %s, want %s", i+1, mid, s.pause)
		}
		low, high := pause(i+1, 0, defaultMaxAge, 0), pause(i+1, 0, defaultMaxAge, 0.999999)
		if low < time.Duration(float64(s.pause)*(1-s.part))-time.Second || high > time.Duration(float64(s.pause)*(1+s.part)) {
			t.Errorf("attempt %d: %s to %s around %s", i+1, low, high, s.pause)
		}
	}
	if d := pause(1, 0, defaultMaxAge, 0.999999); d > 10*time.Second {
		t.Errorf("the first retry comes after %s, want within 10 s", d)
	}
	if d := pause(1000, 0, defaultMaxAge, 0.999999); d > 24*time.Hour {
		t.Errorf("a late pause is %s, want 24 h at most", d)
	}
}

// fullest returns the largest part of all retries that falls in one second, when 5 000 fail in the same second.
func fullest(attempt int, retryAfter time.Duration) float64 {
	const n = 5000
	r := rand.New(rand.NewPCG(65, uint64(attempt)))
	buckets := map[time.Duration]int{}
	most := 0
	for range n {
		at := pause(attempt, retryAfter, defaultMaxAge, r.Float64()).Truncate(time.Second)
		buckets[at]++
		most = max(most, buckets[at])
	}
	return float64(most) / n
}

func TestRetriesDoNotReturnInStep(t *testing.T) {
	for attempt := 2; attempt <= len(steps); attempt++ {
		if part := fullest(attempt, 0); part > 0.05 {
			t.Errorf("after attempt %d one second holds %.1f %% of the retries, want at most 5", attempt, 100*part)
		}
	}
	// The first retry comes within 10 s, so its fullest second cannot hold less than 10 %.
	if part := fullest(1, 0); part > 0.15 {
		t.Errorf("after the first attempt one second holds %.1f %%", 100*part)
	}
	if part := fullest(1, 2*time.Minute); part > 0.05 {
		t.Errorf("with Retry-After: 120 one second holds %.1f %%", 100*part)
	}
}

func TestRetryAfterIsAFloorWithACap(t *testing.T) {
	for _, c := range []struct{ asked, low, high time.Duration }{
		{2 * time.Minute, 2 * time.Minute, 150 * time.Second},
		{time.Hour, time.Hour, time.Hour + 5*time.Minute},
		{1000 * time.Hour, 23 * time.Hour, 24 * time.Hour},
		{time.Second, time.Second, 10 * time.Second}, // never sooner than the schedule
	} {
		for _, random := range []float64{0, 0.3, 0.999} {
			if d := pause(1, c.asked, defaultMaxAge, random); d < c.low || d > c.high {
				t.Errorf("Retry-After %s: pause %s, want %s to %s", c.asked, d, c.low, c.high)
			}
		}
	}
}

// lifeOf fails a message until it is dead and returns the number of attempts and its age.
func lifeOf(maxAge, firstTryAt time.Duration, random float64) (int, time.Duration, string) {
	m := Message{Seq: 1, CreatedAt: epoch}
	now := epoch.Add(firstTryAt)
	for {
		o := judge(m, Failure{Reason: "500 Internal Server Error"}, nil, now, maxAge, random)
		m.Attempts = o.Attempts
		if o.State == Dead {
			return m.Attempts, now.Sub(epoch), o.LastError
		}
		now = o.NextAt
	}
}

func TestAMessageDiesAfterAboutThreeDays(t *testing.T) {
	for _, random := range []float64{0, 0.25, 0.5, 0.75, 0.99} {
		tries, age, reason := lifeOf(defaultMaxAge, 0, random)
		if tries < 10 || tries > 14 || age < 72*time.Hour || age > 97*time.Hour {
			t.Errorf("random %.2f: dead after %d attempts at %s", random, tries, age)
		}
		if !strings.Contains(reason, "given up after") || !strings.Contains(reason, "500 Internal") {
			t.Errorf("reason %q", reason)
		}
	}
	if tries, age, _ := lifeOf(time.Minute, 0, 0.5); age < time.Minute || age > 10*time.Minute {
		t.Errorf("with a patience of one minute: dead after %d attempts at %s", tries, age)
	}
}

func TestAMessageThatWaitedWhileTheProgramWasOffGetsItsTries(t *testing.T) {
	tries, age, _ := lifeOf(defaultMaxAge, 96*time.Hour, 0.5)
	if tries != fairTries || age < 96*time.Hour+7*time.Hour {
		t.Errorf("dead after %d attempts, %s after its creation", tries, age)
	}
}

func TestGoneIsDeadAtOnce(t *testing.T) {
	o := judge(Message{Seq: 7, CreatedAt: epoch}, Failure{Reason: "410 Gone", Gone: true}, nil, epoch, defaultMaxAge, 0.5)
	if o.State != Dead || !strings.HasPrefix(o.LastError, "410 gone") || o.Attempts != 1 {
		t.Errorf("got %+v", o)
	}
}
