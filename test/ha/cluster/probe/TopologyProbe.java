import java.util.Scanner;

import org.apache.activemq.artemis.api.core.TransportConfiguration;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ClusterTopologyListener;
import org.apache.activemq.artemis.api.core.client.ServerLocator;
import org.apache.activemq.artemis.api.core.client.TopologyMember;

/** An HA client that prints what it is told of the topology, until its input ends. Argument: URL. */
public final class TopologyProbe {

   private static Object port(TransportConfiguration connector) {
      return connector == null ? "-" : connector.getParams().get("port");
   }

   public static void main(String[] args) throws Exception {
      try (ServerLocator locator = ActiveMQClient.createServerLocator(args[0])) {
         locator.addClusterTopologyListener(new ClusterTopologyListener() {
            @Override
            public void nodeUP(TopologyMember member, boolean last) {
               System.out.println("up " + member.getNodeId() + " " + port(member.getPrimary()) + " " + port(member.getBackup()) + " " + member.getBackupGroupName());
            }

            @Override
            public void nodeDown(long eventUID, String nodeID) {
               System.out.println("down " + nodeID);
            }
         });
         try (ClientSessionFactory factory = locator.createSessionFactory(); Scanner in = new Scanner(System.in)) {
            System.out.println("connected");
            while (in.hasNextLine()) {
               in.nextLine();
            }
         }
      }
   }
}
