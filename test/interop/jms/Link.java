package interop;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** A TCP relay in front of the broker that can cut what runs through it. */
final class Link implements AutoCloseable {

   private final Broker broker;
   private final int port;
   private final List<Socket> sockets = new ArrayList<>();
   private ServerSocket listener;

   Link(Broker broker) throws IOException {
      this.broker = broker;
      this.listener = listen(0);
      this.port = listener.getLocalPort();
   }

   private ServerSocket listen(int port) throws IOException {
      ServerSocket socket = new ServerSocket();
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress("127.0.0.1", port));
      thread(() -> accept(socket));
      return socket;
   }

   /** A factory of connections through the link. */
   ActiveMQConnectionFactory factory(String parameters) {
      return new ActiveMQConnectionFactory(url(parameters), broker.user(), broker.password());
   }

   String url(String parameters) {
      return broker.url("127.0.0.1", port, parameters);
   }

   /** Resets all connections at both ends; new ones are let through. */
   synchronized void cut() {
      for (Socket socket : sockets) {
         reset(socket);
      }
      sockets.clear();
   }

   /** Cuts, and refuses connections until up. */
   synchronized void down() throws IOException {
      listener.close();
      cut();
   }

   synchronized void up() throws IOException {
      listener = listen(port);
   }

   private void accept(ServerSocket from) {
      try {
         while (true) {
            relay(from.accept());
         }
      } catch (IOException closed) {
         return;
      }
   }

   private synchronized void relay(Socket client) throws IOException {
      if (listener.isClosed()) {
         reset(client);
         return;
      }
      Socket server = new Socket(broker.host(), broker.port());
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      sockets.add(client);
      sockets.add(server);
      thread(() -> pump(client, server));
      thread(() -> pump(server, client));
   }

   private static void pump(Socket from, Socket to) {
      try (from; to) {
         from.getInputStream().transferTo(to.getOutputStream());
      } catch (IOException cut) {
         return;
      }
   }

   private static void reset(Socket socket) {
      try {
         socket.setSoLinger(true, 0);
         socket.close();
      } catch (IOException alreadyClosed) {
         return;
      }
   }

   private static void thread(Runnable body) {
      Thread thread = new Thread(body, "link");
      thread.setDaemon(true);
      thread.start();
   }

   @Override
   public synchronized void close() throws IOException {
      listener.close();
      cut();
   }
}
