package schedule_test

import (
	"context"
	"fmt"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
)

// WaterPlants is an ordinary internal command. What makes it a job is one line.
type WaterPlants struct{}

func (WaterPlants) Policy() command.Policy { return command.Policy{Name: "hotel.water_plants"} }

func Example() {
	var hotel postgres.Source // a real one comes from Database.Source
	wake := func(database string) { /* wake every replica's clock */ }
	pipeline := command.New(command.Deps{})
	queue := internalcommand.New(pipeline, wake)
	internalcommand.Register(queue, command.Handle(pipeline, &hotel, func(context.Context, *postgres.Tx, WaterPlants) error { return nil }))

	jobs := schedule.New(pipeline, queue, wake)
	jobs.Register("hotel.water_plants", "30 2 * * *", WaterPlants{}, schedule.In("Europe/Berlin"), schedule.Missed(schedule.Skip))

	// The night of 28 March 2027 has no half past two.
	calendar := jobs.Calendar("hotel.water_plants")
	fmt.Println(calendar.Words())
	for _, at := range calendar.NextN(time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC), 2) {
		fmt.Println(at)
	}
	_, err := schedule.ParseCalendar("0 0 30 2 *", "UTC")
	fmt.Println(err)
	// Output:
	// every day at 02:30
	// 2027-03-28 03:00:00 +0200 CEST
	// 2027-03-29 02:30:00 +0200 CEST
	// the schedule never comes: no chosen month has such a day (30 February, for example)
}
