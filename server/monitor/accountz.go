package monitor

import (
	"cmp"
	"slices"
)

// AccountzOptions are the parameters of the accounts page.
type AccountzOptions struct {
	Account string // show the definition of this account instead of the names of all
}

func (o *AccountzOptions) parameters() []parameter {
	return []parameter{text("acc", "account", &o.Account)}
}

// Accountz is the accounts page: the names of all accounts, or the definition of one.
type Accountz struct {
	head
	SystemAccount string         `json:"system_account,omitempty"`
	Accounts      []string       `json:"accounts,omitempty"`
	Detail        *AccountDetail `json:"account_detail,omitempty"`
}

// Accountz returns the accounts page. The error is a RequestError for an account that does not exist.
func (p *Pages) Accountz(o AccountzOptions) (*Accountz, error) {
	page := &Accountz{head: p.head(), SystemAccount: p.source.Identity().SystemAccount}
	if o.Account != "" {
		detail, err := p.AccountDetail(o.Account)
		page.Detail = detail
		return page, err
	}
	for _, a := range p.sortedAccounts() {
		page.Accounts = append(page.Accounts, a.Name)
	}
	return page, nil
}

// AccountDetail returns the definition of one account. The error is a RequestError when it does not exist.
func (p *Pages) AccountDetail(name string) (*AccountDetail, error) {
	detail, ok := p.source.AccountDetail(name)
	if !ok {
		return nil, badRequest("Account %s does not exist", name)
	}
	detail.JetStreamEnabled = p.hasJetStream(name)
	return &detail, nil
}

// hasJetStream reports whether an account may use JetStream.
func (p *Pages) hasJetStream(account string) bool {
	return slices.ContainsFunc(p.source.JetStreamAccounts(), func(a JetStreamAccount) bool { return a.ID == account })
}

// AccstatzOptions are the parameters of the account figures page.
type AccstatzOptions struct {
	Accounts      []string // only these, all when empty
	IncludeUnused bool     // also accounts that nobody is connected to
}

func (o *AccstatzOptions) parameters() []parameter {
	return []parameter{
		list("accounts", &o.Accounts),
		flag("unused", "include_unused", &o.IncludeUnused),
	}
}

// Accstatz is the account figures page.
type Accstatz struct {
	head
	Accounts []Account `json:"account_statz"`
}

// Accstatz returns the figures of accounts, ordered by name. Accounts that do not exist are passed over.
func (p *Pages) Accstatz(o AccstatzOptions) (*Accstatz, error) {
	page := &Accstatz{head: p.head(), Accounts: []Account{}}
	for _, a := range p.sortedAccounts() {
		if len(o.Accounts) > 0 && !slices.Contains(o.Accounts, a.Name) {
			continue
		}
		if o.IncludeUnused || a.used() {
			page.Accounts = append(page.Accounts, a)
		}
	}
	return page, nil
}

// AccountFigures returns the figures of one account, false when it does not exist.
func (p *Pages) AccountFigures(name string) (Account, bool) { return p.source.Account(name) }

func (p *Pages) sortedAccounts() []Account {
	accounts := p.source.Accounts()
	slices.SortFunc(accounts, func(a, b Account) int { return cmp.Compare(a.Name, b.Name) })
	return accounts
}

// used reports whether anybody is connected to the account, on any server.
func (a *Account) used() bool {
	return a.Connections+a.LeafNodes+a.TotalConnections > 0
}
