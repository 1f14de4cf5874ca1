package config

// RedriveConsumer is the name of the consumer by which a dead-letter stream remembers what is being put back: as long as it is there, a
// redrive runs, and its metadata say which (package redrive). It gets no message, and only the server makes it.
const RedriveConsumer = "RUNNEL-REDRIVE"
