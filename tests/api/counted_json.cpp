// Boost.JSON's source, compiled with counted comparisons like the layers under test, instead of the
// library.
#include <boost/json/src.hpp>
