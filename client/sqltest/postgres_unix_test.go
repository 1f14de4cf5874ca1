//go:build unix

package sqltest

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// postgres returns the address of a PostgreSQL: the one that the environment names, or one that is started for the tests if its
// programs are there. stop ends that.
func postgres() (url string, stop func(), err error) {
	stop = func() {}
	if url := os.Getenv("RUNNEL_TEST_POSTGRES"); url != "" {
		return url, stop, nil
	}
	bin, err := programs()
	if err != nil {
		return "", stop, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return "", stop, err
	}
	stop = func() { _ = os.RemoveAll(dir) }
	run, err := as(dir)
	if err != nil {
		return "", stop, err
	}
	data := filepath.Join(dir, "data")
	if out, err := run(filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		return "", stop, fmt.Errorf("initdb: %w: %s", err, out)
	}
	server := run(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	if err := server.Start(); err != nil {
		return "", stop, err
	}
	stop = func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait() // that it was interrupted is no news
		_ = os.RemoveAll(dir)
	}
	url = fmt.Sprintf("host=%s user=test dbname=postgres", dir)
	return url, stop, answers(url)
}

// programs returns the folder of PostgreSQL's programs.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	return filepath.Dir(path), err
}

// as returns how programs are run that will not be run by root: by somebody else, who owns the folder then.
func as(dir string) (func(name string, args ...string) *exec.Cmd, error) {
	if os.Geteuid() != 0 {
		return exec.Command, nil
	}
	who, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(who.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(who.Gid)
	if err != nil {
		return nil, err
	}
	return func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return c
	}, os.Chown(dir, uid, gid)
}

// answers waits until a database does.
func answers(url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if err = db.Ping(); err == nil {
			return nil
		}
		<-tick.C
	}
	return err
}
