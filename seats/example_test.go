package seats_test

import (
	"errors"
	"fmt"

	"foyer/seats"
)

const hall = `zone,row,seat,category
Stalls,A,1,Stalls
Stalls,A,2,Stalls
Stalls,A,3,Stalls
Stalls,A,4,Stalls
Balcony,R,1,Balcony
`

func ExampleParse() {
	plan, err := seats.Parse([]byte(hall))
	if err != nil {
		fmt.Println(err)
		return
	}
	i, _ := plan.Index("A-3")
	fmt.Println(plan.Len(), "seats;", plan.Label(i))
	// Output: 5 seats; Stalls, row A, seat 3
}

func ExampleParse_refused() {
	_, err := seats.Parse([]byte("zone,row,seat,category\nStalls,A,1,\nStalls,,2,Stalls\n"))
	var bad *seats.BadPlan
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			fmt.Println(p.Where, "-", p.What)
		}
	}
	// Output:
	// line 2 - category is missing
	// line 3 - row is missing
}

func ExampleNotices() {
	for _, n := range seats.Notices([]byte("zone,row,seat,price,category\n")) {
		fmt.Println(n.Where, "-", n.What)
	}
	// Output: line 1 - column "price" is ignored
}

func ExampleBest() {
	plan, _ := seats.Parse([]byte(hall))
	sold := map[string]bool{"A-2": true}
	free := func(i int) bool { return !sold[plan.Seat(i).ID] }
	for _, i := range seats.Best(plan, 2, "Stalls", free) {
		fmt.Println(plan.Label(i))
	}
	// Output:
	// Stalls, row A, seat 3
	// Stalls, row A, seat 4
}

func ExampleCheckWish() {
	fmt.Println(seats.CheckWish([]string{"A-1", "A-2", "A-1"}, 4))
	fmt.Println(seats.CheckWish([]string{"A-1", " A-1", "a-1"}, 4))
	// Output:
	// seats: a seat is asked for twice
	// <nil>
}
