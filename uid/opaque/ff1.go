package opaque

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"
)

// ff1 is FF1 of NIST SP 800-38G, for a fixed tweak, on strings of n digits of which the upper u and the lower v are numbers below
// 2^63. The names of variables are those of the standard. It is safe for concurrent use.
type ff1 struct {
	block      cipher.Block
	modU, modV uint64 // radix^u and radix^v
	b, d       int    // bytes of NUM(B), and of the pseudorandom number y
	state      [aes.BlockSize]byte
	last       [aes.BlockSize]byte
	buffers    sync.Pool // of *buffer, because what is passed to block escapes
}

// rounds is the number of rounds of the Feistel network.
const rounds = 10

type buffer struct{ in, out [aes.BlockSize]byte }

// newFF1 returns FF1 for strings of n digits. The key is one of AES.
func newFF1(key, tweak []byte, radix uint64, n int) (*ff1, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	u := n / 2
	v := n - u
	f := &ff1{block: block}
	f.buffers.New = func() any { return new(buffer) }
	var fits bool
	if f.modV, fits = power(radix, v); !fits || u < 1 || radix < 2 {
		return nil, errors.New("opaque: a half of the digits must be a number below 2^63")
	}
	f.modU, _ = power(radix, u)
	f.b = (bits.Len64(f.modV-1) + 7) / 8
	f.d = (f.b+3)/4*4 + 4

	// The input of each round is P and Q. Of these only the last b+1 bytes depend on the round: the round, and NUM(B). They
	// are in the last block, because b is at most 8. So state is the CBC-MAC of all blocks before it.
	p := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), rounds, byte(u)}
	p = binary.BigEndian.AppendUint32(p, uint32(n))
	p = binary.BigEndian.AppendUint32(p, uint32(len(tweak)))
	message := append(p, tweak...)
	for (len(message)+f.b+1)%aes.BlockSize != 0 {
		message = append(message, 0)
	}
	whole := len(message) / aes.BlockSize * aes.BlockSize
	for at := 0; at < whole; at += aes.BlockSize {
		for i := range f.state {
			f.state[i] ^= message[at+i]
		}
		block.Encrypt(f.state[:], f.state[:])
	}
	copy(f.last[:], message[whole:])
	return f, nil
}

// power returns radix^digits, and whether it is at most 2^63.
func power(radix uint64, digits int) (uint64, bool) {
	p := uint64(1)
	for range digits {
		hi, lo := bits.Mul64(p, radix)
		if hi != 0 || lo > 1<<63 {
			return 0, false
		}
		p = lo
	}
	return p, true
}

// encrypt encrypts the upper and the lower half of the digits.
func (f *ff1) encrypt(a, b uint64) (uint64, uint64) {
	buf := f.buffers.Get().(*buffer)
	defer f.buffers.Put(buf)
	for i := range rounds {
		mod := f.modU
		if i%2 == 1 {
			mod = f.modV
		}
		a, b = b, reduce(a+f.random(buf, i, b, mod), mod)
	}
	return a, b
}

// decrypt is the inverse of encrypt.
func (f *ff1) decrypt(a, b uint64) (uint64, uint64) {
	buf := f.buffers.Get().(*buffer)
	defer f.buffers.Put(buf)
	for i := rounds - 1; i >= 0; i-- {
		mod := f.modU
		if i%2 == 1 {
			mod = f.modV
		}
		a, b = reduce(b+mod-f.random(buf, i, a, mod), mod), a
	}
	return a, b
}

// random returns the number y of a round, modulo mod.
func (f *ff1) random(buf *buffer, round int, half, mod uint64) uint64 {
	buf.in = f.last
	var digits [8]byte
	binary.BigEndian.PutUint64(digits[:], half)
	copy(buf.in[aes.BlockSize-f.b:], digits[8-f.b:])
	buf.in[aes.BlockSize-f.b-1] = byte(round)
	for i := range buf.in {
		buf.in[i] ^= f.state[i]
	}
	f.block.Encrypt(buf.out[:], buf.in[:])
	// y is the first d bytes, which are 8 or 12.
	high := uint64(0)
	low := binary.BigEndian.Uint64(buf.out[f.d-8:])
	if f.d == 12 {
		high = uint64(binary.BigEndian.Uint32(buf.out[:]))
	}
	if mod&(mod-1) == 0 { // without a division, whose time may depend on the number
		return low & (mod - 1)
	}
	_, rest := bits.Div64(high%mod, low, mod)
	return rest
}

// reduce returns n modulo mod, where n is below 2 × mod.
func reduce(n, mod uint64) uint64 {
	if mod&(mod-1) == 0 {
		return n & (mod - 1)
	}
	return n % mod
}
