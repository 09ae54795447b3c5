package interop;

/** Where the broker under test listens, and a user that may do everything. */
record Broker(String host, int port, String user, String password) {

   String url(String host, int port, String parameters) {
      return "tcp://" + host + ":" + port + (parameters.isEmpty() ? "" : "?" + parameters);
   }

   String url(String parameters) {
      return url(host, port, parameters);
   }
}
