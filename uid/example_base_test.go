package uid_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/ringuid/ringuid/uid"
)

// Texts of a fixed length, which sort as the IDs.
func ExampleID_Base62() {
	id := uid.MustParse("962392666547429376")
	fmt.Println(id.Base32(), id.Base62())

	back, err := uid.ParseBase62(id.Base62())
	fmt.Println(back == id, err)
	// Output:
	// 0TPRV10000800 195leaOEX1k
	// true <nil>
}

// What people type is read with the letters that they confuse. Anything else is an error.
func ExampleParseBase32() {
	id, err := uid.ParseBase32("otprvloooo8oo")
	fmt.Println(id, err)
	_, err = uid.ParseBase32("0TPDHP00-8200")
	fmt.Println(err)
	// Output:
	// 962392666547429376 <nil>
	// uid: out of range: "0TPDHP00-8200" has "-" at position 9; must have only characters of base 32: 0123456789ABCDEFGHJKMNPQRSTVWXYZ
}

// A field's type sets the form that its JSON has.
func ExampleBase62ID() {
	type order struct {
		ID     uid.Base62ID `json:"id"`
		Parent uid.ID       `json:"parent"`
	}
	id := uid.MustParse("962392666547429376")
	text, err := json.Marshal(order{ID: uid.Base62ID(id), Parent: id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output: {"id":"195leaOEX1k","parent":"962392666547429376"}
}
