package logging

// Loggers of Artemis that configuration files and operators know.
const (
	Server        = "org.apache.activemq.artemis.core.server"
	Client        = "org.apache.activemq.artemis.core.client"
	Journal       = "org.apache.activemq.artemis.journal"
	Utils         = "org.apache.activemq.artemis.utils"
	Critical      = "org.apache.activemq.artemis.utils.critical" // the critical analyzer, our watchdog
	Bootstrap     = "org.apache.activemq.artemis.integration.bootstrap"
	AuditBase     = "org.apache.activemq.audit.base"
	AuditResource = "org.apache.activemq.audit.resource"
	AuditMessage  = "org.apache.activemq.audit.message"
)
