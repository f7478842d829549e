package segment

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		opt Option
		ok  bool
	}{
		"nil":                    {nil, false},
		"capacity 0":             {WithCapacity(0), false},
		"capacity 1":             {WithCapacity(1), false},
		"capacity 2":             {WithCapacity(2), true},
		"capacity 3":             {WithCapacity(3), false},
		"capacity 1024":          {WithCapacity(1024), true},
		"capacity 2048":          {WithCapacity(2048), false},
		"capacity -2":            {WithCapacity(-2), false},
		"step policy nil":        {WithStepPolicy(nil), false},
		"step policy":            {WithStepPolicy(LeafStep{}), true},
		"max step 0":             {WithMaxStep(0), false},
		"max step 1":             {WithMaxStep(1), true},
		"greatest max step":      {WithMaxStep(MaxStep), true},
		"max step too great":     {WithMaxStep(MaxStep + 1), false},
		"max wait negative":      {WithMaxWait(-1), false},
		"max wait 0":             {WithMaxWait(0), true},
		"greatest max wait":      {WithMaxWait(1<<63 - 1), true},
		"try timeout 0":          {WithTryTimeout(0), false},
		"try timeout too short":  {WithTryTimeout(time.Millisecond - 1), false},
		"try timeout":            {WithTryTimeout(time.Millisecond), true},
		"greatest try timeout":   {WithTryTimeout(1<<63 - 1), true},
		"take policy nil":        {WithTakePolicy(nil), false},
		"logger nil":             {WithLogger(nil), false},
		"logger":                 {WithLogger(discardLogger()), true},
		"outage of the policy 0": {WithStepPolicy(OutageStep{}), false},
		"outage of a pointer":    {WithStepPolicy(&OutageStep{}), false},
		"nil OutageStep":         {WithStepPolicy((*OutageStep)(nil)), false},
		"embedded policy":        {WithStepPolicy(embeddedPolicy{}), true},
	} {
		s, err := New(t.Context(), newMemorySource(10), testTag, WithLogger(discardLogger()), test.opt)
		if test.ok != (err == nil) || err != nil && (!errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "must ")) {
			t.Errorf("%s: %v", name, err)
		}
		if s != nil {
			for v := int64(1); v <= 20; v++ {
				mustNext(t, s, v)
			}
			s.Close()
		}
	}
	// The first invalid option counts.
	if _, err := newConfig([]Option{WithMaxStep(-7), WithCapacity(3)}); err == nil || !strings.Contains(err.Error(), "-7") {
		t.Errorf("%v", err)
	}
}

// embeddedPolicy embeds an OutageStep that it does not use.
type embeddedPolicy struct{ OutageStep }

func (embeddedPolicy) Size(StepState) int64 { return 7 }
