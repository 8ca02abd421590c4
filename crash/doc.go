// Package crash kills Foyer while it sells, and holds it to everything that it
// acknowledged. Its tests run the real program as a child process under a load
// of visitors, shops and a payment provider, end it at random moments and at
// the edges of a commit, start it again, and compare what it says then with a
// ledger of what it said before. README.md tells how, and how to run it longer.
package crash
