package state

import (
	"fmt"

	"runnel/jetlog/config"
)

// apply gives the cluster its id and members, once.
func (c *Found) apply(m *Machine) Result {
	if m.next.clusterID != "" {
		return Result{Existing: true}
	}
	if c.ClusterID == "" || len(c.Members) == 0 {
		return refuse(config.BadRequest, "a cluster needs an id and members")
	}
	m.next.clusterID, m.next.level = c.ClusterID, c.Level
	for i := range c.Members {
		member := c.Members[i].clone()
		member.Joined, member.Replaces, member.Evacuating = c.Time, "", false
		m.next.members = m.next.members.set(member.Node, member)
	}
	return Result{}
}

// apply takes a server in, or its description.
func (c *Admit) apply(m *Machine) Result {
	v, member := m.next, c.Member.clone()
	switch {
	case member.Node == "" || member.Name == "":
		return refuse(config.BadRequest, "a member needs a node id and a name")
	case v.Removed(member.Node):
		return refuse(ServerNotMember, "")
	case member.Level < v.level:
		return refuse(config.BadRequest, fmt.Sprintf("the cluster is at feature level %d, the server knows %d", v.level, member.Level))
	}
	if old := v.Member(member.Node); old != nil && old.Instance != member.Instance {
		return refuse(config.BadRequest, "the server "+member.Name+" has lost what it had of the cluster, and kept its id")
	}
	if same := v.MemberByName(member.Name); same != nil && same.Node != member.Node {
		if same.Node != member.Replaces {
			return refuse(config.BadRequest, "another server has the name "+member.Name)
		}
		m.remove(same.Node, c.Time)
	}
	member.Joined, member.Evacuating = c.Time, false
	if old := v.Member(member.Node); old != nil {
		member.Joined, member.Evacuating, member.Replaces = old.Joined, old.Evacuating, old.Replaces
	}
	m.next.members = m.next.members.set(member.Node, member)
	return Result{}
}

// apply takes a server out.
func (c *RemoveMember) apply(m *Machine) Result {
	switch {
	case m.next.Member(c.Node) == nil:
		return refuse(ServerNotMember, "")
	case m.next.Size() == 1:
		return refuse(config.BadRequest, "the last server of a cluster can not be removed")
	}
	m.remove(c.Node, c.Time)
	return Result{}
}

// remove takes a member out. Its streams stay as they are.
func (m *Machine) remove(node string, time int64) {
	m.next.members = m.next.members.without(node)
	m.next.removed = m.next.removed.set(node, time)
}

// apply marks a server as one to be left, or not any more.
func (c *Evacuate) apply(m *Machine) Result {
	member := m.next.Member(c.Node)
	if member == nil {
		return refuse(ServerNotMember, "")
	}
	member = member.clone()
	member.Evacuating = !c.Cancel
	m.next.members = m.next.members.set(c.Node, member)
	return Result{}
}

// apply raises the level.
func (c *Raise) apply(m *Machine) Result {
	if c.Level <= m.next.level {
		return Result{Existing: true}
	}
	for member := range m.next.Members() {
		if member.Level < c.Level {
			return refuse(config.BadRequest, fmt.Sprintf("the server %s knows feature level %d only", member.Name, member.Level))
		}
	}
	m.next.level = c.Level
	return Result{}
}
