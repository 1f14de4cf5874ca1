package monitor

// GatewayzOptions are the parameters of the gateways page.
type GatewayzOptions struct {
	Name          string // only this gateway
	Accounts      bool   // show the interest of accounts
	AccountName   string // only this account, implies Accounts
	Subscriptions bool   // list subjects
}

func (o *GatewayzOptions) parameters() []parameter {
	return []parameter{
		text("gw_name", "name", &o.Name),
		flag("accs", "accounts", &o.Accounts),
		text("acc_name", "account_name", &o.AccountName),
		flag("subs", "subscriptions", &o.Subscriptions),
	}
}

// Gatewayz is the page of connections to other clusters. A server alone has none.
type Gatewayz struct {
	head
	Name             string              `json:"name,omitempty"`
	Host             string              `json:"host,omitempty"`
	Port             int                 `json:"port,omitempty"`
	OutboundGateways map[string]struct{} `json:"outbound_gateways"`
	InboundGateways  map[string]struct{} `json:"inbound_gateways"`
}

// Gatewayz returns the gateways page.
func (p *Pages) Gatewayz(GatewayzOptions) (*Gatewayz, error) {
	none := map[string]struct{}{}
	return &Gatewayz{head: p.head(), OutboundGateways: none, InboundGateways: none}, nil
}

// LeafzOptions are the parameters of the leaf nodes page.
type LeafzOptions struct {
	Subscriptions bool   // list subjects
	Account       string // only of this account
}

func (o *LeafzOptions) parameters() []parameter {
	return []parameter{
		flag("subs", "subscriptions", &o.Subscriptions),
		text("acc", "account", &o.Account),
	}
}

// Leafz is the page of leaf node connections. A server alone has none.
type Leafz struct {
	head
	NumLeafs int        `json:"leafnodes"`
	Leafs    []struct{} `json:"leafs"`
}

// Leafz returns the leaf nodes page.
func (p *Pages) Leafz(LeafzOptions) (*Leafz, error) {
	return &Leafz{head: p.head(), Leafs: []struct{}{}}, nil
}
