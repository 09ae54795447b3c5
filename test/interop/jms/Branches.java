package interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.XAConnection;
import javax.jms.XASession;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

import org.apache.activemq.artemis.core.transaction.impl.XidImpl;

/** XA transaction branches: the whole life, recovery, heuristics, timeouts, and every refusal. */
final class Branches {

   static void addTo(Cases cases) {
      cases.add("xa.commit", Branches::commit);
      cases.add("xa.rollback", Branches::rollback);
      cases.add("xa.onephase", Branches::onePhase);
      cases.add("xa.recover", Branches::recover);
      cases.add("xa.suspend", Branches::suspend);
      cases.add("xa.join", Branches::join);
      cases.add("xa.fail", Branches::fail);
      cases.add("xa.readonly", Branches::readOnly);
      cases.add("xa.refusals", Branches::refusals);
      cases.add("xa.heuristic", Branches::heuristic);
      cases.add("xa.timeout", Branches::timeout);
      cases.add("xa.closed", Branches::closed);
      cases.add("xa.several", Branches::several);
      cases.add("xa.resource", Branches::resource);
      cases.add("xa.outside", Branches::outside);
   }

   private static Xid xid(Case c, String branch) {
      return new XidImpl(branch.getBytes(StandardCharsets.UTF_8), 7, c.named("").getBytes(StandardCharsets.UTF_8));
   }

   private static XASession session(Case c) throws Exception {
      XAConnection connection = c.opened(c.factory("").createXAConnection());
      connection.start();
      return connection.createXASession();
   }

   /** The result of a prepare in words. */
   private static String vote(int vote) {
      return vote == XAResource.XA_OK ? "OK" : vote == XAResource.XA_RDONLY ? "RDONLY" : String.valueOf(vote);
   }

   /** The branches of this case that recover returns, sorted. */
   private static List<String> recovered(Case c, XAResource resource, int flags) throws XAException {
      byte[] mine = c.named("").getBytes(StandardCharsets.UTF_8);
      List<String> branches = new ArrayList<>();
      for (Xid each : resource.recover(flags)) {
         if (Arrays.equals(each.getGlobalTransactionId(), mine)) {
            branches.add(new String(each.getBranchQualifier(), StandardCharsets.UTF_8) + " format " + each.getFormatId());
         }
      }
      branches.sort(null);
      return branches;
   }

   private static List<String> scan(Case c, XAResource resource) throws XAException {
      return recovered(c, resource, XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
   }

   private static void commit(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      Xid xid = xid(c, "b1");
      resource.start(xid, XAResource.TMNOFLAGS);
      c.send(session, queue, "a", "b");
      resource.end(xid, XAResource.TMSUCCESS);
      c.fact("before prepare", c.count(c.named("q")));
      c.fact("prepare", vote(resource.prepare(xid)));
      c.fact("after prepare", c.count(c.named("q")));
      c.fact("in doubt", scan(c, resource));
      resource.commit(xid, false);
      c.fact("after commit", c.count(c.named("q")));
      c.fact("in doubt then", scan(c, resource));

      Xid receive = xid(c, "b2");
      MessageConsumer consumer = session.createConsumer(queue);
      resource.start(receive, XAResource.TMNOFLAGS);
      c.fact("received", c.receive(consumer, 1));
      resource.end(receive, XAResource.TMSUCCESS);
      c.fact("prepare receive", vote(resource.prepare(receive)));
      c.fact("left before commit", c.count(c.named("q")));
      resource.commit(receive, false);
      c.fact("left", c.count(c.named("q")));
   }

   private static void rollback(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "x");
      for (boolean prepared : new boolean[] {false, true}) {
         Xid xid = xid(c, "b" + prepared);
         MessageConsumer consumer = session.createConsumer(queue);
         resource.start(xid, XAResource.TMNOFLAGS);
         c.send(session, queue, "never");
         javax.jms.Message m = consumer.receive(Case.PATIENCE);
         c.fact("received", Case.text(m) + " count " + m.getIntProperty("JMSXDeliveryCount"));
         resource.end(xid, XAResource.TMSUCCESS);
         if (prepared) {
            c.fact("prepare", vote(resource.prepare(xid)));
         }
         resource.rollback(xid);
         consumer.close();
         c.eventually("count", 1L, () -> c.count(c.named("q")));
      }
      c.fact("in doubt", scan(c, resource));
   }

   private static void onePhase(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      Xid xid = xid(c, "b");
      resource.start(xid, XAResource.TMNOFLAGS);
      c.send(session, queue, "a");
      resource.end(xid, XAResource.TMSUCCESS);
      resource.commit(xid, true);
      c.fact("count", c.count(c.named("q")));
      c.thrown("commit again", () -> resource.commit(xid, true));

      Xid prepared = xid(c, "prepared");
      resource.start(prepared, XAResource.TMNOFLAGS);
      c.send(session, queue, "b");
      resource.end(prepared, XAResource.TMSUCCESS);
      resource.prepare(prepared);
      c.thrown("one phase after prepare", () -> resource.commit(prepared, true));
      c.fact("count then", c.count(c.named("q")));
      c.thrown("two phases", () -> resource.commit(prepared, false));
      c.fact("count at last", c.count(c.named("q")));
   }

   /** Prepared branches outlive their connection and are finished by another. */
   private static void recover(Case c) throws Exception {
      Queue queue = c.queue(c.session(), "q");
      c.send(c.session(), queue, "x", "y");
      for (String branch : new String[] {"commit", "rollback"}) {
         XAConnection connection = c.opened(c.factory("").createXAConnection());
         connection.start();
         XASession session = connection.createXASession();
         XAResource resource = session.getXAResource();
         Xid xid = xid(c, branch);
         resource.start(xid, XAResource.TMNOFLAGS);
         c.fact("received in " + branch, c.receive(session.createConsumer(queue), 1));
         c.send(session, queue, "sent in " + branch);
         resource.end(xid, XAResource.TMSUCCESS);
         resource.prepare(xid);
         connection.close();
      }
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      c.fact("in doubt", scan(c, resource));
      c.fact("start of scan", recovered(c, resource, XAResource.TMSTARTRSCAN));
      c.fact("end of scan", recovered(c, resource, XAResource.TMENDRSCAN));
      c.fact("no flags", recovered(c, resource, XAResource.TMNOFLAGS));
      c.fact("delivered meanwhile", c.drain(c.session().createConsumer(queue)));
      resource.commit(xid(c, "commit"), false);
      resource.rollback(xid(c, "rollback"));
      c.fact("in doubt then", scan(c, resource));
      c.fact("left", c.drain(c.session().createConsumer(queue)));
   }

   private static void suspend(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      Xid one = xid(c, "one");
      Xid two = xid(c, "two");
      resource.start(one, XAResource.TMNOFLAGS);
      c.send(session, queue, "1a");
      resource.end(one, XAResource.TMSUSPEND);
      resource.start(two, XAResource.TMNOFLAGS);
      c.send(session, queue, "2a");
      resource.end(two, XAResource.TMSUCCESS);
      resource.start(one, XAResource.TMRESUME);
      c.send(session, queue, "1b");
      resource.end(one, XAResource.TMSUCCESS);
      resource.commit(two, true);
      resource.prepare(one);
      resource.commit(one, false);
      c.fact("order", c.drain(c.session().createConsumer(queue)));
      c.thrown("prepare while suspended", () -> {
         Xid xid = xid(c, "prepare");
         resource.start(xid, XAResource.TMNOFLAGS);
         resource.end(xid, XAResource.TMSUSPEND);
         resource.prepare(xid);
      });
      c.thrown("resume one that is not suspended", () -> {
         Xid xid = xid(c, "resume");
         resource.start(xid, XAResource.TMNOFLAGS);
         resource.end(xid, XAResource.TMSUCCESS);
         resource.start(xid, XAResource.TMRESUME);
      });
   }

   private static void join(Case c) throws Exception {
      XASession first = session(c);
      XASession second = session(c);
      XAResource one = first.getXAResource();
      XAResource two = second.getXAResource();
      Queue queue = c.queue(first, "q");
      c.fact("same manager", one.isSameRM(two));
      Xid xid = xid(c, "b");
      one.start(xid, XAResource.TMNOFLAGS);
      c.send(first, queue, "from one");
      one.end(xid, XAResource.TMSUCCESS);
      two.start(xid, XAResource.TMJOIN);
      c.send(second, queue, "from two");
      two.end(xid, XAResource.TMSUCCESS);
      c.fact("prepare", vote(two.prepare(xid)));
      one.commit(xid, false);
      c.fact("received", c.drain(c.session().createConsumer(queue)));
      c.thrown("join an unknown one", () -> two.start(xid(c, "unknown"), XAResource.TMJOIN));
   }

   private static void fail(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      Xid xid = xid(c, "b");
      resource.start(xid, XAResource.TMNOFLAGS);
      c.send(session, queue, "a");
      resource.end(xid, XAResource.TMFAIL);
      c.thrown("prepare", () -> resource.prepare(xid));
      c.thrown("rollback", () -> resource.rollback(xid));
      c.fact("count", c.count(c.named("q")));
   }

   private static void readOnly(Case c) throws Exception {
      XAResource resource = session(c).getXAResource();
      Xid xid = xid(c, "b");
      resource.start(xid, XAResource.TMNOFLAGS);
      resource.end(xid, XAResource.TMSUCCESS);
      c.fact("prepare without work", vote(resource.prepare(xid)));
      c.fact("in doubt", scan(c, resource));
      c.thrown("commit", () -> resource.commit(xid, false));
   }

   private static void refusals(Case c) throws Exception {
      XAResource resource = session(c).getXAResource();
      Xid unknown = xid(c, "unknown");
      c.thrown("end unknown", () -> resource.end(unknown, XAResource.TMSUCCESS));
      c.thrown("prepare unknown", () -> resource.prepare(unknown));
      c.thrown("commit unknown", () -> resource.commit(unknown, false));
      c.thrown("one-phase commit unknown", () -> resource.commit(unknown, true));
      c.thrown("rollback unknown", () -> resource.rollback(unknown));
      c.thrown("forget unknown", () -> resource.forget(unknown));
      c.thrown("resume unknown", () -> resource.start(unknown, XAResource.TMRESUME));

      Xid xid = xid(c, "b");
      resource.start(xid, XAResource.TMNOFLAGS);
      c.thrown("start twice", () -> session(c).getXAResource().start(xid, XAResource.TMNOFLAGS));
      c.thrown("prepare before end", () -> resource.prepare(xid));
      c.thrown("commit before end", () -> resource.commit(xid, true));
      resource.end(xid, XAResource.TMSUCCESS);
      c.thrown("end twice", () -> resource.end(xid, XAResource.TMSUCCESS));
      c.thrown("commit before prepare", () -> resource.commit(xid, false));
      c.thrown("rollback at last", () -> resource.rollback(xid));
   }

   private static void heuristic(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      for (String outcome : new String[] {"Commit", "Rollback"}) {
         Xid xid = xid(c, outcome);
         String text = XidImpl.toBase64String(xid);
         resource.start(xid, XAResource.TMNOFLAGS);
         c.send(session, queue, outcome);
         resource.end(xid, XAResource.TMSUCCESS);
         resource.prepare(xid);
         c.fact("listed as prepared", List.of((Object[]) c.operation("broker", "listPreparedTransactions")).toString().contains(text));
         String operation = outcome.equals("Commit") ? "commitPreparedTransaction" : "rollbackPreparedTransaction";
         c.fact(operation, c.operation("broker", operation, text));
         c.fact(operation + " again", c.operation("broker", operation, text));
         c.fact("count", c.count(c.named("q")));
         c.fact("in doubt", scan(c, resource));
         String list = outcome.equals("Commit") ? "listHeuristicCommittedTransactions" : "listHeuristicRolledBackTransactions";
         c.fact(list, List.of((Object[]) c.operation("broker", list)).contains(text));
         c.thrown("commit", () -> resource.commit(xid, false));
         c.thrown("rollback", () -> resource.rollback(xid));
         c.thrown("prepare", () -> resource.prepare(xid));
         c.thrown("forget", () -> resource.forget(xid));
         c.thrown("forget again", () -> resource.forget(xid));
         c.fact("in doubt then", scan(c, resource));
      }
   }

   private static void timeout(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      c.send(c.session(), queue, "x");
      c.fact("default", resource.getTransactionTimeout());
      c.fact("set", resource.setTransactionTimeout(2));
      c.fact("then", resource.getTransactionTimeout());
      Xid xid = xid(c, "b");
      MessageConsumer consumer = session.createConsumer(queue);
      resource.start(xid, XAResource.TMNOFLAGS);
      c.send(session, queue, "never");
      c.receive(consumer, 1);
      consumer.close();
      Session other = c.session();
      c.fact("delivered again", c.receive(other.createConsumer(queue), 1));
      c.thrown("end", () -> resource.end(xid, XAResource.TMSUCCESS));
      c.thrown("prepare", () -> resource.prepare(xid));
      c.thrown("commit", () -> resource.commit(xid, true));
      c.fact("count", c.count(c.named("q")));
      c.fact("reset", resource.setTransactionTimeout(0));
   }

   /** A branch outlives the connection that worked in it, whether or not it was ended. */
   private static void closed(Case c) throws Exception {
      Queue queue = c.queue(c.session(), "q");
      c.send(c.session(), queue, "x", "y");
      for (boolean ended : new boolean[] {false, true}) {
         XAConnection connection = c.opened(c.factory("").createXAConnection());
         connection.start();
         XASession session = connection.createXASession();
         XAResource resource = session.getXAResource();
         Xid xid = xid(c, "b" + ended);
         resource.start(xid, XAResource.TMNOFLAGS);
         c.send(session, queue, "never");
         c.receive(session.createConsumer(queue), 1);
         if (ended) {
            resource.end(xid, XAResource.TMSUCCESS);
         }
         connection.close();
         XAResource other = session(c).getXAResource();
         c.thrown("prepare elsewhere, ended " + ended, () -> c.fact("vote", vote(other.prepare(xid))));
         c.fact("in doubt", scan(c, other));
         c.thrown("rollback elsewhere, ended " + ended, () -> other.rollback(xid));
      }
      c.fact("left", new TreeSet<>(c.drain(c.session().createConsumer(queue))));
   }

   private static void several(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      Queue queue = c.queue(session, "q");
      for (int n = 0; n < 5; n++) {
         Xid xid = xid(c, "b" + n);
         resource.start(xid, XAResource.TMNOFLAGS);
         c.send(session, queue, "m" + n);
         resource.end(xid, XAResource.TMSUCCESS);
         resource.prepare(xid);
      }
      c.fact("in doubt", scan(c, resource));
      for (int n : new int[] {3, 0, 4}) {
         resource.commit(xid(c, "b" + n), false);
      }
      c.fact("in doubt then", scan(c, resource));
      resource.rollback(xid(c, "b1"));
      resource.rollback(xid(c, "b2"));
      // Ids are given when a message is sent, so that is the order, not that of the commits.
      c.fact("received", c.drain(c.session().createConsumer(queue)));
   }

   private static void resource(Case c) throws Exception {
      XASession session = session(c);
      XAResource resource = session.getXAResource();
      c.fact("transacted", session.getTransacted());
      c.thrown("commit of the session", session::commit);
      c.thrown("rollback of the session", session::rollback);
      c.fact("same as itself", resource.isSameRM(session.getXAResource()));
      c.fact("timeout of another session", session(c).getXAResource().getTransactionTimeout());
   }

   /** Work of an XA session outside of any branch takes effect at once. */
   private static void outside(Case c) throws Exception {
      XASession session = session(c);
      Queue queue = c.queue(session, "q");
      c.send(session, queue, "a");
      c.eventually("count", 1L, () -> c.count(c.named("q")));
      MessageConsumer consumer = session.createConsumer(queue);
      c.fact("received", c.receive(consumer, 1));
      session.close();
      c.eventually("left", 0L, () -> c.count(c.named("q")));
   }

   private Branches() {
   }
}
