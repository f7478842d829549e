package uid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// An ID is a number in Go and in a database, and a string in JSON.
func ExampleID() {
	type order struct {
		ID     uid.ID `json:"id"`
		Parent uid.ID `json:"parent,omitzero"` // 0 is not an ID: it stands for no parent
	}
	text, err := json.Marshal(order{ID: 962392666547429376})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))

	var back order
	if err := json.Unmarshal(text, &back); err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.ID, back.Parent.IsZero())
	fmt.Printf("%d %x\n", back.ID, back.ID)
	// Output:
	// {"id":"962392666547429376"}
	// 962392666547429376 true
	// 962392666547429376 d5b1b0800002000
}

func ExampleID_Compare() {
	ids := []uid.ID{30, 10, 20}
	slices.SortFunc(ids, uid.ID.Compare)
	fmt.Println(ids)
	// Output: [10 20 30]
}

// Input that is not exactly what String returns is an error that names it.
func ExampleParseID() {
	id, err := uid.ParseID("962392666547429376")
	fmt.Println(id, err)
	_, err = uid.ParseID("007")
	fmt.Println(err)
	// Output:
	// 962392666547429376 <nil>
	// uid: out of range: "007" must be a decimal number from 0 to 2^63-1, without leading zeros, sign or spaces
}

func ExampleMustParse() {
	var firstOrder = uid.MustParse("962392666547429376") // a constant of a test
	fmt.Println(firstOrder)
	// Output: 962392666547429376
}

// The text of a format fits into a configuration that the services of a fleet share.
func ExampleParseFormat() {
	f, err := uid.ParseFormat("1-41-10-12 2026-01-01T00:00:00Z 1ms")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Layout(), f.Unit(), f.End().Format(time.DateOnly))

	same, err := uid.NewFormat(uid.WithTwitterLayout())
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(same)
	fmt.Println(same == f, string(text), err)
	// Output:
	// 1-41-10-12 1ms 2095-09-07
	// true "1-41-10-12 2026-01-01T00:00:00Z 1ms" <nil>
}

// Parts read their own JSON back. What is not in it, the format finds in the ID.
func ExampleParts() {
	f, err := uid.NewFormat()
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(f.Parse(962392666547429376))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))

	var back uid.Parts
	if err := json.Unmarshal(text, &back); err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.Time, back.WorkerID, back.Sequence)
	fmt.Println(back.Delta, f.Parse(back.ID).Delta)
	// Output:
	// {"UID":"962392666547429376","timestamp":"2026-11-21 04:21:53","workerId":"1","sequence":"0"}
	// 2026-11-21 04:21:53 +0000 UTC 1 0
	// 0 28009313
}

// Statistics are a group in a log.
func ExampleStats_LogValue() {
	var clock wallClock
	clock.set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	g, err := uid.NewDefault(context.Background(), workerassign.Static(7), uid.WithClock(&clock))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr { // a few of them, for a short example
			if slices.Contains([]string{"worker_id", "format", "issued", "ahead"}, a.Key) {
				return a
			}
			return slog.Attr{}
		},
	}))
	logger.Info("", "uid", g.Stats())
	// Output: uid.worker_id=7 uid.format="1-28-22-13 2026-01-01T00:00:00Z 1s" uid.issued=0 uid.ahead=0s
}
