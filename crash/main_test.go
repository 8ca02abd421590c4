package crash

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Uint64("crash.seed", 0, "what every choice derives from; 0 takes the time")
	killsFlag  = flag.Int("crash.kills", shortKills, "how often the program is killed")
	raceFlag   = flag.Bool("crash.race", false, "build the program that is killed with the race detector")
	sourceFlag = flag.String("crash.source", "..", "the folder of the program that is killed")
	blindFlag  = flag.Bool("crash.blind", false, "leave out foyer check, to see what the ledger notices by itself")
	faultsFlag = flag.Bool("crash.faults", false, "plant faults in copies of the source, one by one, and see that each is noticed")

	binary string // the program that is killed
)

// shortKills are as many as go with every run of the tests.
const shortKills = 28

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "foyer-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "foyer")
	args := []string{"build", "-trimpath", "-tags", "failpoint", "-o", binary}
	if *raceFlag {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, ".")...)
	build.Dir = *sourceFlag
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build in %s: %v\n%s", *sourceFlag, err, out)
		return 1
	}
	return m.Run()
}

// seed is this run's.
func seed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano()) % 1_000_000_000
}
