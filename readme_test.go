package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const beFoyer = "FOYER_TEST_MAIN" // makes this test binary be foyer, see init

func init() {
	if os.Getenv(beFoyer) != "" {
		os.Exit(run(context.Background(), program{os.Stdout, os.Stderr, os.LookupEnv}, os.Args[1:]))
	}
}

// shellBlock is the first block of shell commands after a heading of a document.
func shellBlock(t *testing.T, name, heading string) string {
	t.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(doc), "\n"+heading+"\n")
	_, after, block := strings.Cut(after, "\n```sh\n")
	text, _, ends := strings.Cut(after, "\n```\n")
	if !found || !block || !ends {
		t.Fatalf("%s has no commands under %q", name, heading)
	}
	return text
}

// The commands about tasks are pasted as they stand; only the address of the server is another. What the tasks call is
// not reached: the machine's own address is not allowed.
func TestDocumentedCommandsAboutTasksWorkWhenPasted(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("the commands need %s", tool)
			}
			t.Skipf("the commands need %s", tool)
		}
	}
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(w.dir, "data"))
	w.file("foyer", "#!/bin/sh\n"+beFoyer+"=1 exec '"+os.Args[0]+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(w.dir, "foyer"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("http://127.0.0.1:8080", url, "https://example.org/", "http://127.0.0.1:1/").Replace(shellBlock(t, "docs/tasks.md", "## Requests to be made later"))
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "FOYER_ADMIN_KEY=a key for this test", "FOYER_SERVER="+url)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "/problems/") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"tenant-*: 1 in any 10s\n", `"id":"invoice-1"`, `"dueAt":"2027-03-01T09:00:00.000Z"`, `{"items":[{"taskId":`, " under way, next slot ", "tenant-7: 1 in any 10s, paused\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in what they print:\n%s", want, out)
		}
	}
}

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
	for _, name := range []string{"FOYER_ADMIN_KEY", "FOYER_WEBHOOK_SECRET", "FOYER_DEMO_SECRET", "FOYER_STRIPE_KEY", "FOYER_STRIPE_WEBHOOK_SECRET", "FOYER_TURNSTILE_SITE_KEY", "FOYER_TURNSTILE_SECRET", "FOYER_HCAPTCHA_SITE_KEY", "FOYER_HCAPTCHA_SECRET"} {
		if !strings.Contains(string(readme), name) || !strings.Contains(secretHelp, name) {
			t.Errorf("README or the manual does not tell of %s", name)
		}
	}
}
