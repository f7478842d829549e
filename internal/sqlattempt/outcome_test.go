package sqlattempt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// unusedError is an error of pgx for a statement that was not sent.
type unusedError struct{ error }

func (unusedError) SafeToRetry() bool { return true }

// What is known of a statement that failed. For a lost connection, nothing is known.
func TestOutcomes(t *testing.T) {
	number := func(n uint16) error { return fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: n}) }
	for _, tt := range []struct {
		err                            error
		rolledBack, duplicate, refused bool
	}{
		{number(1213), true, false, false}, {number(1020), true, false, false}, {number(9007), true, false, false},
		{number(1062), false, true, false}, {number(1047), false, false, true}, {number(1290), false, false, true},
		{number(1146), false, false, false}, {number(1053), false, false, false},
		{stateTestError("40001"), true, false, false}, {stateTestError("23505"), false, true, false}, {stateTestError("25006"), false, false, true},
		{stateTestError("57P01"), false, false, false}, {stateTestError("25P02"), false, false, true},
		{unusedError{errors.New("closed")}, false, false, true},
		{mysql.ErrInvalidConn, false, false, false}, {nil, false, false, false},
	} {
		if r, d, f := IsRolledBack(tt.err), IsDuplicate(tt.err), IsRefused(tt.err); r != tt.rolledBack || d != tt.duplicate || f != tt.refused {
			t.Errorf("%v: rolled back %t, duplicate %t, refused %t; want %t, %t, %t", tt.err, r, d, f, tt.rolledBack, tt.duplicate, tt.refused)
		}
	}
}
