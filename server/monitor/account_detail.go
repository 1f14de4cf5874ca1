package monitor

import "time"

// AccountDetail is the definition of one account, as /accountz?acc= shows it.
type AccountDetail struct {
	Name              string               `json:"account_name"`
	UpdateTime        time.Time            `json:"update_time,omitzero"`
	IsSystem          bool                 `json:"is_system,omitempty"`
	Expired           bool                 `json:"expired"`
	Complete          bool                 `json:"complete"`
	JetStreamEnabled  bool                 `json:"jetstream_enabled"` // filled in by the page
	LeafNodes         int                  `json:"leafnode_connections"`
	Connections       int                  `json:"client_connections"`
	Subscriptions     int                  `json:"subscriptions"`
	Limits            *AccountLimits       `json:"limits,omitempty"` // nil without any
	Mappings          map[string][]Mapping `json:"mappings,omitempty"`
	Exports           []Export             `json:"exports,omitempty"`
	Imports           []Import             `json:"imports,omitempty"`
	JWT               string               `json:"jwt,omitempty"`
	DecodedJWT        any                  `json:"decoded_jwt,omitempty"` // what the JWT says
	IssuerKey         string               `json:"issuer_key,omitempty"`
	NameTag           string               `json:"name_tag,omitempty"`
	Tags              []string             `json:"tags,omitempty"`
	RevokedUsers      map[string]time.Time `json:"revoked_user,omitempty"`
	SubscriptionStats *SubscriptionStats   `json:"sublist_stats,omitempty"`
}

// AccountLimits bound what the users of an account may use together. A member is nil without limit; at 0 nothing is allowed.
type AccountLimits struct {
	MaxConnections   *int64 `json:"max_connections,omitempty"`
	MaxLeafNodes     *int64 `json:"max_leafnodes,omitempty"`
	MaxSubscriptions *int64 `json:"max_subscriptions,omitempty"`
	MaxPayload       *int64 `json:"max_payload,omitempty"` // bytes
}

// Mapping is one destination of a subject mapping.
type Mapping struct {
	Subject string `json:"subject"`
	Weight  int    `json:"weight"` // percent
	Cluster string `json:"cluster,omitempty"`
}

// Export is a subject that an account offers to others.
type Export struct {
	Subject          string   `json:"subject"`
	Type             string   `json:"type"`                    // "stream" or "service"
	ResponseType     string   `json:"response_type,omitempty"` // "Singleton", "Streamed" or "Chunked"
	Latency          *Latency `json:"service_latency,omitempty"`
	ApprovedAccounts []string `json:"approved_accounts,omitempty"`
	TokenRequired    bool     `json:"token_required,omitempty"`
	TokenPosition    int      `json:"account_token_position,omitempty"`
}

// Latency says how a service's latency is sampled and where the results go.
type Latency struct {
	Sampling int    `json:"sampling"` // percent, 0 = asked for by header
	Results  string `json:"results"`
}

// Import is a subject that an account takes from another.
type Import struct {
	Subject      string   `json:"subject"`
	Account      string   `json:"account"`
	To           string   `json:"to,omitempty"`
	LocalSubject string   `json:"local_subject,omitempty"`
	Type         string   `json:"type"` // "stream" or "service"
	Invalid      bool     `json:"invalid"`
	Share        bool     `json:"share"`
	Tracking     bool     `json:"tracking"`
	Latency      *Latency `json:"latency,omitempty"`
}
