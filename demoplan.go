package main

import (
	"fmt"
	"strings"
)

// demoPlan is the house of the demo as a venue's plan in CSV: stalls in curved
// rows, two sides, a balcony; 516 seats.
var demoPlan = makeDemoPlan()

func makeDemoPlan() string {
	var b strings.Builder
	b.WriteString("zone,row,seat,category,id,x,y,accessible,companion\n")
	for r := range 12 { // stalls: rows A to L, 22 to 26 seats
		row := string(rune('A' + r))
		demoRow(&b, "Stalls", row, "Stalls", row, 22+min(r/2, 4), 0, float64(r)*1.3, r == 11)
	}
	for r := range 8 { // sides: rows of 4, left and right of the stalls
		row := fmt.Sprint(r + 1)
		demoRow(&b, "Left side", row, "Side", "L"+row, 4, -19, float64(r)*1.3+1.5, false)
		demoRow(&b, "Right side", row, "Side", "R"+row, 4, 19, float64(r)*1.3+1.5, false)
	}
	for r := range 5 { // balcony: rows AA to EE, 30 to 34 seats
		row := strings.Repeat(string(rune('A'+r)), 2)
		demoRow(&b, "Balcony", row, "Balcony", row, 30+r, 0, 19+float64(r)*1.4, false)
	}
	return b.String()
}

// demoRow writes one row around x, bent a little towards the stage.
func demoRow(b *strings.Builder, zone, row, category, prefix string, n int, x, y float64, wheelchairs bool) {
	for i := range n {
		off := float64(i) - float64(n-1)/2
		dy := 0.012 * off * off
		accessible, companion := "no", "no"
		if wheelchairs && (i == 0 || i == n-1) {
			accessible = "yes"
		}
		if wheelchairs && (i == 1 || i == n-2) {
			companion = "yes"
		}
		fmt.Fprintf(b, "%s,%s,%d,%s,%s-%d,%.2f,%.2f,%s,%s\n", zone, row, i+1, category, prefix, i+1, x+off, y-dy, accessible, companion)
	}
}
