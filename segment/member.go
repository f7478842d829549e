package segment

import "fmt"

// membersOf returns the sources of a Sequence: the members of a Group, or src itself.
func membersOf(src Source) ([]*member, error) {
	if src == nil {
		return nil, fmt.Errorf("%w: the source is nil; must not be nil", ErrOption)
	}
	sources := []Source{src}
	if g, ok := src.(interface{ members() ([]Source, error) }); ok {
		var err error
		if sources, err = g.members(); err != nil {
			return nil, err
		}
	}
	members := make([]*member, len(sources))
	for i, s := range sources {
		name, err := describe(s)
		if err != nil {
			return nil, err
		}
		members[i] = &member{source: s, name: name}
	}
	return members, nil
}

// describe returns the description of a source. Its panic, such as that of a nil pointer, is an error.
func describe(s Source) (name string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: String of the source panicked: %v", ErrOption, v)
		}
	}()
	return s.String(), nil
}
