package system

import "time"

// EveryAccount as the account of Subscribe means all accounts, those included that a later reload adds.
const EveryAccount = "*"

// Bus publishes to clients and receives from them inside an account. Both methods may be called from any
// goroutine, but not from within a handler.
type Bus interface {
	// Publish delivers a message to the subscribers of subject in the account. No permission applies and no
	// mapping. header is a complete header block ("NATS/1.0\r\n...\r\n\r\n") or nil; reply may be empty.
	// The bus does not keep or change header and payload after it returned. It does not wait for slow
	// receivers.
	Publish(account, subject, reply string, header, payload []byte)

	// Subscribe calls handler for each message that a client of any server of the cluster publishes in the account (or in every
	// account) on a subject that the pattern matches. The handler returns at once and may be called from
	// many goroutines; the Request and its slices belong to it. A message with a reply that a handler took
	// counts as answered: no "no responders" goes out. Once cancel has returned no further message
	// reaches the handler, but a call may still be under way; calling cancel twice is allowed.
	Subscribe(account, pattern string, handler func(Request)) (cancel func(), err error)

	// SubscribeLocal is Subscribe for what only clients of this server ask: other servers of the cluster answer theirs.
	SubscribeLocal(account, pattern string, handler func(Request)) (cancel func(), err error)
}

// Request is a message that a client published on a subject of a service.
type Request struct {
	// Account is where the request arrived and the answer goes. It is not that of the requester where another account
	// imports the service.
	Account   string
	Subject   string
	Reply     string // empty when no answer is wanted
	Header    []byte // complete header block or nil
	Payload   []byte
	Requester Requester
}

// Requester is the connection that sent a request, and what its user may do. It is empty for a client of another server.
type Requester struct {
	CID         uint64
	Account     string
	AccountName string // name of the account for people; the account when empty
	User        string
	UserName    string        // name of the user for people, may be empty
	Permissions *Permissions  // nil when nothing is restricted
	Expires     time.Duration // time until the credentials expire, 0 = never
}

// Permissions is the definition of what a user may do.
type Permissions struct {
	Publish   *SubjectPermissions  `json:"publish,omitempty"`
	Subscribe *SubjectPermissions  `json:"subscribe,omitempty"`
	Responses *ResponsePermissions `json:"responses,omitempty"`
}

// SubjectPermissions lists subject patterns; for subscriptions "pattern queue" names a queue group.
type SubjectPermissions struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// ResponsePermissions allows publishing to the reply subjects of received messages.
type ResponsePermissions struct {
	MaxMsgs int           `json:"max"` // replies per message, -1 = any number
	Expires time.Duration `json:"ttl"` // how long a reply is allowed, negative = for ever
}

// Actions are the changes that the services can ask of the server. They are called from goroutines of this
// package and may take their time.
type Actions interface {
	// Reload reads the configuration again and applies it. It returns what has changed; the error says what was
	// refused.
	Reload() (changes []string, err error)
	// Kick closes a client connection, false when there is none with this id.
	Kick(cid uint64) bool
	// SendLameDuck tells one client to reconnect elsewhere, false when there is none with this id.
	SendLameDuck(cid uint64) bool
}
