package entorders

//go:generate go tool ent generate --target ./ent ./schema
