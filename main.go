// Foyer is a waiting room and a box office in one program.
//
// The command line lives here and in the files beside this one, one per
// command. main owns every goroutine that outlives a request; what a command
// does is wired from the rooms below (see ARCHITECTURE.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // the time zones of venues, whatever the host has

	"foyer/store"
)

// version is set by release builds; otherwise the build's own information speaks.
var version = ""

// Exit codes.
const (
	exitOK    = 0
	exitFile  = 1 // the work failed: a bad file, a refused request
	exitUsage = 2 // a bad flag, a busy port, a folder that cannot be written
)

// failure is an error with its exit code. Its text is one clear sentence.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func usageError(format string, args ...any) error {
	return failure{exitUsage, fmt.Errorf(format, args...)}
}

// program is what a command may touch of the world.
type program struct {
	out, err io.Writer
	env      func(string) (string, bool)
}

// command is one word of the command line.
type command struct {
	name, what string
	run        func(context.Context, program, []string) error
}

func commands() []command {
	return []command{
		{"serve", "run the waiting room and the box office", serveCommand},
		{"protect", "run it in front of a shop: protect --upstream URL --event EVENT", protectCommand},
		{"demo", "set up three events with a crowd and run them", demoCommand},
		{"event", "create or list events, forget who bought: event create FILE | event list | event forget EVENT", eventCommand},
		{"draw", "check the draw of an event: draw verify EVENT", drawCommand},
		{"report", "sum up an event of a running foyer: report EVENT", reportCommand},
		{"plan", "check a seating plan: plan check FILE", planCommand},
		{"check", "check a file of foyer that is not in use: check FILE", checkCommand},
		{"backup", "copy the whole database, also while selling: backup FILE", backupCommand},
		{"restore", "put a backup in place: restore FILE", restoreCommand},
		{"lane", "look at lanes of a running foyer and set their pace: lane list | show | set | unset | pause | resume", laneCommand},
		{"outbox", "look at messages that are not delivered: outbox list | show ID | retry ID | drop ID", outboxCommand},
		{"version", "print the version", versionCommand},
	}
}

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // the terminal has gone; under nohup that does not matter
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, program{os.Stdout, os.Stderr, os.LookupEnv}, os.Args[1:]))
}

// run runs the command that args name and returns the exit code.
func run(ctx context.Context, p program, args []string) int {
	if len(args) == 2 && args[0] == "help" { // foyer help serve
		args = []string{args[1], "--help"}
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-version") {
		args = []string{"version"}
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		printUsage(p.out)
		if len(args) == 0 {
			return exitUsage
		}
		return exitOK
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, p, args[1:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return exitOK
		}
		fmt.Fprintf(p.err, "foyer: %s\n", sentence(err))
		return exitCode(err)
	}
	fmt.Fprintf(p.err, "foyer: there is no command %q; see foyer help\n", args[0])
	return exitUsage
}

// sentence is an error for people: without the names of our rooms in front.
func sentence(err error) string {
	s := err.Error()
	for _, known := range []error{store.ErrInUse, store.ErrUnwritable, store.ErrBadFile} {
		s = strings.ReplaceAll(s, known.Error()+": ", "")
	}
	return ourRooms.ReplaceAllString(s, "$1")
}

// ourRooms are the names of our rooms at the start of an error or of a part of it.
var ourRooms = regexp.MustCompile(`(^|: |; |\n)(?:(?:store|seats|webhook|mailsink|natssink|kafkasink|filesink|sale): )+`)

func exitCode(err error) int {
	var f failure
	switch {
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, store.ErrUnwritable), errors.Is(err, store.ErrInUse):
		return exitUsage
	}
	return exitFile
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "Foyer is a waiting room and a box office in one program.\n\nUsage: foyer COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.what)
	}
	fmt.Fprint(w, "\nfoyer COMMAND --help tells all about a command.\n")
}

// asksForHelp tells whether one of the arguments asks for help.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-h" || a == "-help" || a == "help" })
}

func versionCommand(_ context.Context, p program, args []string) error {
	if asksForHelp(args) {
		fmt.Fprintln(p.out, "Print the version, the commit it was built from and Go's version.\n\nUsage: foyer version")
		return nil
	}
	if len(args) > 0 {
		return usageError("version takes no arguments")
	}
	fmt.Fprintln(p.out, "foyer "+versionText())
	return nil
}

func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}
