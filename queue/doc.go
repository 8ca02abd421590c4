// Package queue says who is next: the line of one event with exact ranks, the pace at which turns may
// be given, and an honest estimate of the wait.
//
// Invariant: a visitor waits at most once in a Line, under a number that belongs to nobody else, and a
// rank is the exact count of waiting places with a smaller number, whoever left or came back. At no
// moment does a Window that was asked first hold more than its limit.
//
// It does not know storage, HTTP, events or the wall clock: time is always an argument, so the same
// calls give the same answers. It does not decide who may join or how many slots are free; that is
// package sale. Nothing here is safe for concurrent use by itself; what only reads says so, and may
// run many times at once under the caller's read lock.
package queue

// ID names a visitor: 16 bytes, all values allowed. It may have been chosen by an attacker, so nothing
// here relies on its being random.
type ID = [16]byte
