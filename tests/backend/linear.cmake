salient_test(linear_test SOURCES linear_test.cc DEPENDS salient_linear)
