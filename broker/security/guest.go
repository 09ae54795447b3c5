package security

import "context"

// guestModule lets everybody in as one user with one role. With credentialsInvalidate only clients without a password
// count as guests.
type guestModule struct {
	user, role            string
	credentialsInvalidate bool
}

func newGuestModule(o moduleOptions) guestModule {
	return guestModule{
		user:                  o.text("org.apache.activemq.jaas.guest.user", "guest"),
		role:                  o.text("org.apache.activemq.jaas.guest.role", "guests"),
		credentialsInvalidate: o.is("credentialsInvalidate"),
	}
}

func (m guestModule) login(_ context.Context, c Credentials) (attempt, error) {
	accepted := !m.credentialsInvalidate || c.Password == ""
	return attempt{accepted, func(s *subject) bool {
		if accepted {
			s.addUser(m.user)
			s.addRoles(m.role)
		}
		return accepted
	}}, nil
}
