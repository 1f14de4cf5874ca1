package clustering

import (
	"crypto/subtle"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"runnel/cluster/mesh"
	"runnel/conf"
)

// maxHashes is how many hashes of passwords are computed at a time: they cost a lot, and whoever comes to the port may
// ask for one.
const maxHashes = 2

// Check tells what of a valid block would keep Open from working, apart from addresses in use.
func Check(o *conf.Cluster) error {
	if !hashed(o) {
		return nil
	}
	if _, err := bcrypt.Cost([]byte(o.Authorization.Password)); err != nil {
		return fmt.Errorf("cluster.authorization.password begins like a bcrypt hash but is not one: %w", err)
	}
	return nil
}

func hashed(o *conf.Cluster) bool { return strings.HasPrefix(o.Authorization.Password, "$2") }

// security is whom this server lets in and what it shows. A password that is configured as a hash lets others in, and is
// of no use for being let in: there the password of a route is shown that fits.
func (c *Cluster) security(o *Options) mesh.Security {
	a := &o.Authorization
	s := mesh.Security{Username: a.Username, Password: a.Password, TLS: o.TLS, DialTLS: o.DialTLS}
	if !hashed(o.Cluster) {
		return s
	}
	hash, name := []byte(a.Password), []byte(a.Username)
	turns := make(chan struct{}, maxHashes)
	s.Authorize = func(username, password string) bool {
		turns <- struct{}{}
		defer func() { <-turns }()
		known := subtle.ConstantTimeCompare([]byte(username), name) == 1
		return bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && known
	}
	var found bool
	if s.Password, found = passwordIn(o.Cluster, s.Authorize); !found {
		c.cfg.Logger.Warn("cluster.authorization.password is a hash, and no URL in cluster.routes has the password to it: "+
			"this server has nothing to show to servers that it learns of, and waits for them to connect", "user", a.Username)
	}
	return s
}

// passwordIn finds the password of this cluster among those in its routes.
func passwordIn(o *conf.Cluster, authorize func(username, password string) bool) (password string, found bool) {
	tried := map[string]bool{}
	for _, route := range o.Routes {
		u, err := url.Parse(route)
		if err != nil || u.User == nil || u.User.Username() != o.Authorization.Username {
			continue
		}
		if p, ok := u.User.Password(); ok && !tried[p] {
			tried[p] = true
			if authorize(u.User.Username(), p) {
				return p, true
			}
		}
	}
	return "", false
}
