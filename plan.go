package main

import (
	"context"
	"errors"
	"fmt"

	"foyer/seats"
)

const planHelp = `Check a seating plan before it is uploaded.

Usage: foyer plan check FILE

FILE is Foyer's own JSON form, a pretix seating plan (JSON) or CSV with the header
zone,row,seat,category and optionally id,x,y,accessible,companion ("-" reads standard input).
Every problem is listed with its line or path. Exit code 0: sound; 1: not.

A CSV line without an id gets row-seat when that is unique in the whole plan, else zone-row-seat. Give ids of
your own if the house may grow: an id stays for ever, and a seat that is held or sold cannot lose its.
`

func planCommand(_ context.Context, p program, args []string) error {
	if asksForHelp(args) {
		fmt.Fprint(p.out, planHelp)
		return nil
	}
	if len(args) != 2 || args[0] != "check" {
		return usageError("use plan check FILE; see foyer plan --help")
	}
	data, err := readFile(args[1])
	if err != nil {
		return err
	}
	plan, err := seats.Parse(data)
	var bad *seats.BadPlan
	if errors.As(err, &bad) {
		for _, problem := range bad.Problems {
			fmt.Fprintf(p.out, "%s: %s\n", problem.Where, problem.What)
		}
		return fmt.Errorf("%s is no sound plan", args[1])
	}
	if err != nil {
		return err
	}
	for _, n := range seats.Notices(data) {
		fmt.Fprintf(p.out, "%s: %s\n", n.Where, n.What)
	}
	perCategory := map[string]int{}
	for i := range plan.Len() {
		perCategory[plan.Seat(i).Category]++
	}
	name := plan.Name
	if name == "" {
		name = args[1]
	}
	fmt.Fprintf(p.out, "%s: %d seats, version %s, seat ids %s to %s\n", name, plan.Len(), plan.Version(), plan.Seat(0).ID, plan.Seat(plan.Len()-1).ID)
	for _, c := range plan.Categories {
		fmt.Fprintf(p.out, "  %-20s %5d seats\n", c.Name, perCategory[c.Name])
	}
	return nil
}

// readPlan reads a plan file whole or tells its first problem.
func readPlan(name string) (*seats.Plan, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, err
	}
	plan, err := seats.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; foyer plan check %s lists every problem", name, err, name)
	}
	return plan, nil
}
