package settings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/ringuid/ringuid/settings"
)

// A program reads its configuration from a file, lets the environment replace parts of it, and starts the generator. A field
// of type Settings can be in the configuration's own type. With the assigner static, no other process may have the same worker_id:
// processes of a fleet that share one file have disposable or recycled.
func ExampleSettings() {
	var config struct {
		Listen string            `json:"listen"`
		UID    settings.Settings `json:"uid"`
	}
	file := `{"listen": ":8080", "uid": {"layout": "1-30-20-13", "assigner": "static", "worker_id": 7}}`
	if err := json.Unmarshal([]byte(file), &config); err != nil {
		log.Fatal(err)
	}
	environment := map[string]string{"RINGUID_GENERATOR": "default"} // os.LookupEnv in a program
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	if err := config.UID.ReadEnv(settings.Prefix, lookup); err != nil {
		log.Fatal(err)
	}

	workers, err := config.UID.NewAssigner(settings.Backend{}) // with the program's database, if the assigner requires it
	if err != nil {
		log.Fatal(err)
	}
	g, err := config.UID.NewGenerator(context.Background(), workers)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	id, err := g.Next()
	fmt.Println(g.Parse(id).WorkerID, err)
	fmt.Println(config.UID) // with the defaults that are in force
	// Output:
	// 7 <nil>
	// generator=default layout=1-30-20-13 epoch=2026-01-01T00:00:00Z time_unit=1s reserve_ahead=30s rollback=ride_out assigner=static worker_id=7
}

// All faults are reported at once.
func ExampleError() {
	var s settings.Settings
	err := json.Unmarshal([]byte(`{"layuot": "1-30-20-13", "boost_power": 17}`), &s)
	fmt.Println(err)
	// Output:
	// settings: 2 are wrong:
	// 	layuot: no such setting as "layuot"; did you mean layout?
	// 	boost_power: boost power is 17; must be 0 to 16
}
