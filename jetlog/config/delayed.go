package config

// MetadataDelayed is the key of a stream's metadata that names the stream for which it keeps what is published later. The server
// sets it, for the companions that it makes.
const MetadataDelayed = "runnel.delayed_for"
