package conf

import (
	"strings"
	"time"

	"runnel/conf/syntax"
)

var authorizationKeys = []key[Authorization]{
	row("user username", reloadInherit, "Name of the only user.",
		func(a *Authorization) slot { return text(&a.Username) }),
	row("password pass", reloadInherit, "Password of the only user, plain or as bcrypt hash.",
		func(a *Authorization) slot { return secret(text(&a.Password)) }),
	row("token", reloadInherit, "Token that stands in place of user and password.",
		func(a *Authorization) slot { return secret(text(&a.Token)) }),
	row("timeout", reloadInherit, "Time to present credentials.",
		func(a *Authorization) slot {
			return orElse(seconds(&a.Timeout), "2s, or a second more than that of tls")
		}),
	row("users", reloadInherit, "Users with their permissions.",
		func(a *Authorization) slot { return blocks(&a.Users, userKeys, zero[User], (*User).Name) }),
	row("default_permissions permissions", reloadInherit, "Permissions of users without their own.",
		func(a *Authorization) slot { return block(&a.DefaultPermissions, permissionsKeys, zero[Permissions]) }),
	row("auth_callout auth_hook", reloadInherit, "Service that decides who may connect.",
		func(a *Authorization) slot { return block(&a.Callout, authCalloutKeys, zero[AuthCallout]) }),
	row("proxy_required", reloadInherit, "Admit connections through a trusted proxy only.",
		func(a *Authorization) slot { return flag(&a.ProxyRequired) }),
}

var userKeys = []key[User]{
	row("user username", reloadInherit, "Name of the user.",
		func(u *User) slot { return text(&u.Username) }),
	row("password pass", reloadInherit, "Password, plain or as bcrypt hash.",
		func(u *User) slot { return secret(text(&u.Password)) }),
	row("nkey", reloadInherit, "Public key of the user, in place of name and password.",
		func(u *User) slot { return text(&u.NKey) }),
	row("permissions permission authorization", reloadInherit, "What the user may publish and subscribe to.",
		func(u *User) slot { return block(&u.Permissions, permissionsKeys, zero[Permissions]) }),
	row("allowed_connection_types connection_types clients", reloadInherit, "How the user may connect: "+strings.Join(connectionTypes, ", ")+".",
		func(u *User) slot { return orElse(connectionTypesSlot(&u.ConnectionTypes), "all") }),
	row("proxy_required", reloadInherit, "Admit the user through a trusted proxy only.",
		func(u *User) slot { return flag(&u.ProxyRequired) }),
}

var permissionsKeys = []key[Permissions]{
	row("publish pub import", reloadInherit, "Subjects that may be published to: one, a list, or { allow, deny }.",
		func(p *Permissions) slot { return rules(&p.Publish) }),
	row("subscribe sub export", reloadInherit, "Subjects that may be subscribed to, each with a queue after a blank if wanted: one, a list, or { allow, deny }.",
		func(p *Permissions) slot { return rules(&p.Subscribe) }),
	row("allow_responses publish_allow_responses", reloadInherit, "Let the user answer requests that it received.",
		func(p *Permissions) slot {
			return block(&p.Responses, responsesKeys, newResponses).or("a boolean", readShortResponses)
		}),
}

var rulesKeys = []key[Rules]{
	row("allow", reloadInherit, "What is allowed; all when empty.",
		func(r *Rules) slot { return list(&r.Allow) }),
	row("deny", reloadInherit, "What is denied although allowed.",
		func(r *Rules) slot { return list(&r.Deny) }),
}

// rules reads { allow, deny }, or only what is allowed.
func rules(place *Rules) slot {
	return part(place, rulesKeys, zero[Rules]).or("a subject, a list of subjects",
		func(d *decoder, path string, v *syntax.Value, r *Rules) (*Rules, bool) {
			list(&r.Allow).read(d, path, v)
			return r, true
		})
}

var responsesKeys = []key[ResponsePermission]{
	row("max max_msgs max_responses", reloadInherit, "Replies to one message, negative for no limit.",
		func(r *ResponsePermission) slot { return count(&r.Max, -maxCount, maxCount) }),
	row("expires ttl expiration", reloadInherit, "Time in which a reply may come, negative for ever.",
		func(r *ResponsePermission) slot { return durationOrNever(&r.Expires) }),
}

func newResponses() *ResponsePermission {
	return &ResponsePermission{Max: 1, Expires: 2 * time.Minute}
}

var authCalloutKeys = []key[AuthCallout]{
	row("issuer", reloadInherit, "Public account key that signs the answers.",
		func(c *AuthCallout) slot { return text(&c.Issuer) }),
	row("account acc", reloadInherit, "Account in which the service is asked.",
		func(c *AuthCallout) slot { return orElse(text(&c.Account), "$G") }),
	row("auth_users users", reloadInherit, "Users that the service is not asked about, such as its own.",
		func(c *AuthCallout) slot { return list(&c.AuthUsers) }),
	row("xkey key", reloadInherit, "Public curve key that requests are sealed for.",
		func(c *AuthCallout) slot { return text(&c.XKey) }),
	row("allowed_accounts", reloadInherit, "Accounts that the service may place users in.",
		func(c *AuthCallout) slot { return orElse(list(&c.AllowedAccounts), "all") }),
}

var resolverKeys = []key[Resolver]{
	row("type", reloadInherit, "memory, full, cache or url.",
		func(r *Resolver) slot { return resolverType(&r.Type) }),
	row("url", reloadInherit, "Start of the URL that answers with a JWT when the account's key is appended.",
		func(r *Resolver) slot { return oneURL(&r.URL) }),
	row("dir", reloadInherit, "Folder of the JWTs.",
		func(r *Resolver) slot { return text(&r.Dir) }),
	row("allow_delete", reloadInherit, "Let JWTs be deleted by request.",
		func(r *Resolver) slot { return flag(&r.AllowDelete) }),
	row("hard_delete", reloadInherit, "Delete files instead of renaming them.",
		func(r *Resolver) slot { return flag(&r.HardDelete) }),
	row("interval", reloadInherit, "Pause between synchronisations with other servers.",
		func(r *Resolver) slot { return duration(&r.Interval) }),
	row("limit", reloadInherit, "Number of JWTs to keep, 0 for the built-in limit.",
		func(r *Resolver) slot { return count(&r.Limit, 0, maxCount) }),
	row("ttl", reloadInherit, "How long a cache keeps a JWT, 0 for as long as it is valid.",
		func(r *Resolver) slot { return duration(&r.TTL) }),
	row("timeout", reloadInherit, "Time for one fetch.",
		func(r *Resolver) slot { return seconds(&r.Timeout) }),
}

func newResolver() *Resolver {
	return &Resolver{Interval: time.Minute, Timeout: 1900 * time.Millisecond}
}

var proxiesKeys = []key[Proxies]{
	row("trusted", reloadInherit, "The proxies, each { key: public key }.",
		func(p *Proxies) slot {
			return blocks(&p.Trusted, trustedProxyKeys, zero[TrustedProxy], func(t *TrustedProxy) string { return t.Key })
		}),
}

var trustedProxyKeys = []key[TrustedProxy]{
	row("key", reloadInherit, "Public key of the proxy.",
		func(t *TrustedProxy) slot { return text(&t.Key) }),
}

func newProxies() *Proxies { return &Proxies{} }

func newAuthorization() *Authorization { return &Authorization{} }

// zero is the maker of blocks without defaults.
func zero[T any]() *T { return new(T) }
