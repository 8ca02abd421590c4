// Package bench is the room for measuring: what Foyer costs against a floor that
// is measured in the same run, and what survives of its promises about speed.
//
// Invariants: what runs under load is the real program, built from this tree and
// started as a process of its own; its CPU is the kernel's count, not ours; no
// figure is compared with one of another run. It tests nothing but that each
// operation still works, and nothing imports it. See README.md.
package bench
