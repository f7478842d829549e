package opaque_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/opaque"
)

// A service reads its key from where it keeps its secrets. There it was written once, by opaque.NewKey('1').Reveal().
func Example() {
	key, err := opaque.ParseKey("1:5f0c8ab1e7d24c93b60f9ed27a4418c2d3e95b7086fa41cc920d6b3ef8157a24")
	if err != nil {
		log.Fatal(err)
	}
	orders, err := opaque.New("orders", key)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []uid.ID{962392666547429376, 962392666547429377} {
		text, err := orders.Encode(id)
		if err != nil {
			log.Fatal(err)
		}
		back, err := orders.Decode(text)
		fmt.Println(text, back == id, err)
	}
	fmt.Println(key) // without the secret
	// Output:
	// 18PdwQaP06lw true <nil>
	// 10LNx98BLCxy true <nil>
	// key '1'
}

// To change the key, the new one becomes the current one, and the former one remains as an old one.
func ExampleNew_rotation() {
	first, second := opaque.NewKey('1'), opaque.NewKey('2')
	before, err := opaque.New("orders", first)
	if err != nil {
		log.Fatal(err)
	}
	text, err := before.Encode(7)
	if err != nil {
		log.Fatal(err)
	}

	after, err := opaque.New("orders", second, first)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(after.Decode(text))

	later, err := opaque.New("orders", second) // when no text of the first key is in use any more
	if err != nil {
		log.Fatal(err)
	}
	_, err = later.Decode(text)
	fmt.Println(errors.Is(err, opaque.ErrVersion))
	// Output:
	// 7 <nil>
	// true
}
