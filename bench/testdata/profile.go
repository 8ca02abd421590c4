package main

import (
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// This file is laid over package main (go build -overlay) when a benchmark is
// run with -profiles. A SIGUSR1 begins a CPU profile, the next one ends it and
// puts it whole under the name in FOYER_BENCH_PROFILE.
func init() {
	name := os.Getenv("FOYER_BENCH_PROFILE")
	toggle := make(chan os.Signal, 1)
	signal.Notify(toggle, syscall.SIGUSR1)
	go func() {
		for range toggle {
			if f, err := os.Create(name + ".part"); err == nil && pprof.StartCPUProfile(f) == nil {
				<-toggle
				pprof.StopCPUProfile()
				_ = f.Close()
				_ = os.Rename(f.Name(), name)
			}
		}
	}()
}
