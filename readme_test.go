package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestReadmeTellsEverySettingAndNoOther(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	(&settings{}).bind(f)
	rows := 0
	f.VisitAll(func(fl *flag.Flag) {
		row := fmt.Sprintf("| `--%s` | `%s` | ", fl.Name, envName(fl.Name))
		_, after, ok := strings.Cut(string(readme), row)
		if !ok {
			t.Errorf("README has no row %q", row)
			return
		}
		rows++
		said, _, _ := strings.Cut(after, " |")
		if fl.DefValue != "" && said != "`"+fl.DefValue+"`" {
			t.Errorf("README says --%s is %s by default, it is %s", fl.Name, said, fl.DefValue)
		}
	})
	if n := strings.Count(string(readme), "| `--"); n != rows {
		t.Errorf("README has %d rows about flags, %d of them are flags", n, rows)
	}
	for _, name := range []string{"FOYER_ADMIN_KEY", "FOYER_WEBHOOK_SECRET", "FOYER_DEMO_SECRET"} {
		if !strings.Contains(string(readme), name) || !strings.Contains(secretHelp, name) {
			t.Errorf("README or the manual does not tell of %s", name)
		}
	}
}
