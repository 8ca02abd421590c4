// Package contract holds Foyer to its HTTP contract from outside. Its tests
// build the program, run it as a child process with a folder, a port and a
// receiver of their own, and know nothing of it but what the contract says:
// no package of Foyer is imported here.
//
// Each test runs in an event of its own; most share one running program. Those
// that kill, stop or configure the program start their own. Names of tests
// carry the ids of the cases (B21) that they try.
package contract
