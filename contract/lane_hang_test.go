package contract

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestManyReceiversThatHangHoldUpNoOtherLane(t *testing.T) {
	t.Parallel()
	h, x := laneHouse(t), newTarget(t)
	let := make(chan struct{})
	x.answer = func(_ http.ResponseWriter, r *http.Request, _ int) {
		if r.URL.Path == "/hang" {
			<-let
		}
	}
	defer close(let)
	for i := range 100 {
		h.task(t, fmt.Sprint("hang-", i), x.URL+"/hang", nil).want(t, http.StatusAccepted)
	}
	x.arrive(t, "/hang", 100, 10*time.Second)
	h.task(t, lane(), x.URL+"/well", nil).want(t, http.StatusAccepted)
	x.arrive(t, "/well", 1, 2*time.Second)
}
