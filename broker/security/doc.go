// Package security decides who a client is and what it may do.
//
// # Authentication
//
// An [Authenticator] takes [Credentials] and gives a [Principal]. Behind it stands a [Realm]: a list of login modules
// as login.config has them ([JAAS]), or the basic manager whose users are records ([Basic]). The cluster user is
// compared with cluster-password only and may do everything. Answers are remembered for the invalidation interval,
// refusals included, and a session asks for its own again when that is over ([Login]); each source address waits longer from failure to failure ([SlowDown]).
//
// Built-in login modules are PropertiesLoginModule, GuestLoginModule, TextFileCertificateLoginModule and
// ExternalCertificateLoginModule, with the options of Artemis. A realm that names another one is an error.
//
// Users of a PropertiesLoginModule are in two files of Java properties ([Properties]):
//
//	user = password
//	user = ENC(1024:SALT:HASH)       PBKDF2 with HMAC-SHA1; iterations, salt and hash (64 bytes) in hexadecimal
//	role = user,user                 blanks belong to the name behind them, as in Artemis
//
// [UserFiles] and [Basic] are user management ([Users]), what addUser, listUser, removeUser and resetUser do.
//
// # Authorisation
//
// [Permissions] hold the security-settings. Per address the most specific match counts alone: an exact one, then those
// with "*", then those with "#", which stands at the end only. A match that is exactly "address::queue" replaces that
// of the address where a queue is concerned. [RBAC] maps management messages to permissions view and edit.
//
// # API
//
//	func NewAuthenticator(o AuthenticatorOptions) *Authenticator
//	func (a *Authenticator) Authenticate(ctx context.Context, c Credentials) (Principal, error)   // *AuthenticationError
//	func (a *Authenticator) Watch(c Credentials, who Principal) *Login
//	func (l *Login) Fresh() bool
//	func (l *Login) Principal(ctx context.Context) (who Principal, changed bool, err error)          // *AuthenticationError
//	func (a *Authenticator) Clear()
//	func (a *Authenticator) CacheLen() int
//	func (a *Authenticator) Counts() (succeeded, failed int64)
//	func NewJAAS(name string, modules []ModuleConfig, dir string, log hclog.Logger) (*JAAS, error)
//	func (r *JAAS) Login(ctx context.Context, c Credentials) (Principal, error)
//	func (r *JAAS) Anonymous() (Principal, bool)
//	func (r *JAAS) UserFiles() (*UserFiles, error)
//	func NewBasic(log hclog.Logger) *Basic
//	func (b *Basic) Open(records UserRecords, existing map[string]StoredUser, bootstrap Bootstrap) error
//	func (b *Basic) Close()
//	type Users interface { AddUser, RemoveUser, ListUsers, ResetUser }                             // *UserError
//
//	func NewPermissions(o PermissionsOptions, list []Setting) (*Permissions, error)
//	func (p *Permissions) Allowed(who Principal, permission Permission, address, queue string) bool
//	func (p *Permissions) Check(who Principal, permission Permission, address, queue string) error // *PermissionError
//	func (p *Permissions) Replace(list []Setting) error
//	func (p *Permissions) Put(s Setting) error
//	func (p *Permissions) Remove(match string) error
//	func (p *Permissions) For(address string) Setting
//	func (p *Permissions) Settings() []Setting
//	func (p *Permissions) Clear()
//	func (p *Permissions) Enabled() bool
//	func Internal(user string) Principal
//	func NewRBAC(prefix, pattern string) (*RBAC, error)
//	func (r *RBAC) Check(p *Permissions, who Principal, resource, method string) error
//
//	func HashPassword(password string) (string, error)                                             // ENC(1024:…), user add
//	func Hash(password string) (string, error)                                                     // 1024:…, mask --hash
package security
