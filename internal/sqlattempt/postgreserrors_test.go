package sqlattempt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stateTestError is an error with an SQLSTATE, as pgx and lib/pq have it.
type stateTestError string

func (e stateTestError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateTestError) SQLState() string { return string(e) }

// Each state has one entry, and a class comes after its states, whose entries would otherwise have no effect.
func TestStateErrors(t *testing.T) {
	var seen []string
	for _, e := range StateErrors() {
		if len(e.State) != 5 && len(e.State) != 2 || e.Name == "" || e.Reason == "" {
			t.Errorf("the entry %+v is not complete", e)
		}
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(e.State, s) }) {
			t.Errorf("the entry of %s has no effect", e.State)
		}
		seen = append(seen, e.State)
	}
	for state, want := range map[string]Action{
		"40001": Retry, "40P01": Retry, "08006": Reconnect, "08P01": Reconnect, "57P01": Reconnect, "57P02": Reconnect,
		"57P03": Reconnect, "25006": Reconnect, "53300": Retry, "53400": Retry, "42P01": Stop, "42501": Stop,
		"28P01": Stop, "42601": Stop, "P0001": Stop, "": Stop,
	} {
		action, _ := Classify(fmt.Errorf("wrapped: %w", stateTestError(state)))
		if action != want {
			t.Errorf("the action for the state %q is %d, want %d", state, action, want)
		}
	}
	for _, text := range []string{"read only connection", "pq: session is read-only"} {
		if action, reason := Classify(errors.New(text)); action != Reconnect || reason != ReasonReadOnlyPostgres {
			t.Errorf("Classify(%s) = %v, %s", text, action, reason)
		}
	}
}
