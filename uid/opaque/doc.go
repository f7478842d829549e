// Package opaque writes IDs as texts for public URLs and APIs that show neither their order nor how many there are.
//
// A UID contains its time, its worker and a sequence, so whoever sees some of them learns when they were generated and how many
// there are. A Codec encrypts the number: it maps each of the 2^63 IDs to another number of 63 bits, by a secret key, and
// writes that as text. The same ID always has the same text, no two IDs have the same, and the text is as long for
// each: 12 letters and digits. The first is the version of the key, so that keys can be changed: Decode reads the texts of old
// keys as long as the Codec has them.
//
//	key := opaque.NewKey('1')  // once; keep key.Reveal() where the service keeps its secrets
//	codec, err := opaque.New("orders", key)
//	text, err := codec.Encode(id)    // "1" and 11 letters and digits
//	id, err := codec.Decode(text)
//
// # What it protects
//
// Somebody who does not have the key, and sees any number of texts, learns from a text only which version of the key it has,
// and from two whether they stand for the same ID. Somebody who sees texts together with their IDs cannot tell other texts
// from those of different random numbers. The cipher is FF1 of NIST SP 800-38G with radix 2 and 63 digits, on AES: a Feistel network of ten
// rounds. The attacks on format-preserving encryption that are known require small domains. The standard requires a million
// values, and here there are 2^63.
//
// # What it does not protect
//
//   - It does not authenticate. Any text of the right form with a known version decodes to some ID. Of 2^63 numbers few are IDs
//     that exist: with a thousand million of them, a guess is one of these with a probability of 1 in 9 thousand million.
//     But a text that leaks, or that a user passes on, works for everybody. So check for each request whether the user
//     may see the object.
//   - It does not hide that two texts stand for the same ID.
//   - If the key leaks, all texts can be decoded, also old ones: a new version of the key protects only new texts.
//   - Where the CPU has no instructions for AES, that of package crypto/aes does not run in constant time.
//
// NIST's page on the mode mentions patents that may be relevant, and a letter of assurance on their licenses. Whether any of
// them applies to you is not examined here.
//
// A call takes about half a microsecond (BenchmarkAppend and BenchmarkDecode, on an AMD EPYC): ten blocks of AES, one after the
// other. Texts do not sort as the IDs. Keep IDs in the database, and texts outside.
package opaque
