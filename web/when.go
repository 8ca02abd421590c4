package web

import (
	"strings"
	"sync"
	"time"
)

// How times are written wherever people read them; static/wait.js has the same. What
// machines read is RFC 3339.
const (
	dayAndTime  = "Mon 2 January 2006, 15:04"
	toTheSecond = dayAndTime + ":05" // what was done, for staff
)

// zones keeps what time.LoadLocation found, which reads and parses a file each time.
var zones sync.Map // name -> *time.Location

// zone finds a time zone by its IANA name.
func zone(name string) (*time.Location, error) {
	if kept, ok := zones.Load(name); ok {
		return kept.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	zones.Store(name, loc)
	return loc, nil
}

// zoned writes a moment in the event's own zone, with the zone's name.
func zoned(t *time.Time, name string) string {
	if t == nil {
		return ""
	}
	return dayTime(*t, name)
}

// dayTime is zoned for a moment that is always there.
func dayTime(t time.Time, zone string) string { return inZone(t, zone, dayAndTime) }

// zonedTime is the time of day in the event's zone, with the zone's name.
func zonedTime(t time.Time, name string) string { return inZone(t, name, "15:04") }

func inZone(t time.Time, name, layout string) string {
	loc, err := zone(name)
	if err != nil {
		loc, name = time.UTC, "UTC"
	}
	t = t.In(loc)
	which := ""
	if _, comesTwice := twin(t); comesTwice {
		which = ", UTC" + t.Format("-07:00")
	}
	return t.Format(layout) + " (" + strings.ReplaceAll(name, "_", " ") + " time" + which + ")"
}

// twin finds the other moment with the same time on the wall, when the clocks
// were put back in between: by an hour, or by half of one on Lord Howe Island.
func twin(t time.Time) (other time.Time, comesTwice bool) {
	for _, d := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute} {
		if other = t.Add(d); other.Format(time.DateTime) == t.Format(time.DateTime) {
			return other, true
		}
	}
	return t, false
}

// local is a moment in a zone; in UTC where that is not known.
func local(t time.Time, name string) time.Time {
	loc, err := zone(name)
	if err != nil {
		loc = time.UTC
	}
	return t.In(loc)
}

// atTime writes a moment for a page that names the zone elsewhere.
func atTime(t time.Time, name string) string {
	return local(t, name).Format(toTheSecond)
}

// zoneWord is the zone as such a head names it.
func zoneWord(name string) string {
	if _, err := zone(name); err != nil {
		name = "UTC"
	}
	return strings.ReplaceAll(name, "_", " ") + " time"
}
